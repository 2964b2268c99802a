# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads the output of the disassembler of ocloc, Intel's offline compiler.

A line of a listing is a label, an instruction or a comment, in the same grammar for all GPUs:

    L416:
    (W&f0.1) jmpi                         L944
             mad (8|M0)   r74.0<1>:f   r74.0<8;1>:f   r24.0<8;1>:f   r6.3<0;1>:f     {Compacted}
             send (8|M0)  r120:f   r32:uq  0xC   0x041401FF   // wr:2+0, rd:1; a64 dword ...

    predicate, operation, lanes, result, operands, and a comment that describes a message

Figures of a kernel, as read_attributes() and find_loops() return them:

    simd            lanes of a thread
    registers       registers of a thread
    slm             bytes of local memory of a work-group
    spill           bytes of spilled registers of a thread
    private_memory  bytes of arrays of a thread that are not in registers; ocloc 22.43 may report
                    one size for both, here, and rounds up
    resource_loops  loops that the compiler puts around loads whose surface may differ between lanes
    instructions    instructions of the whole kernel
    hot             index of the loop with the most multiply-adds, dpas included, in its own path;
                    -1: no loop has any
    density         share of multiply-adds and dpas among the instructions of that loop; 0: no loop
    loops           the loops, in the order of their first lines

Figures of one iteration of a loop. If it branches, the path of a full tile counts: the one with the
most multiply-adds, then with the most loaded bytes, then the shortest, which does not prefetch.

    parent          index of the outer loop, -1 without one
    instructions    instructions of the path, without those of inner loops; the sum of KINDS
    mads            multiply-adds of "multiply" for each work-item. An instruction of half the
                    kernel's SIMD width counts as a half
    dpas_macs       multiply-adds of "dpas" for each work-item
    load_bytes      bytes of "loads" for a thread (all lanes), from the sizes in the messages
"""

import re
from dataclasses import dataclass

# The kinds of instructions that are counted in a loop
KINDS = (
    "multiply",  # floating-point multiply-add, and dp4a, which is four for int8
    "dpas",  # for matrix engines
    "moves",  # mov, sel and the like, whatever the type
    "integers",  # arithmetic on integers: addresses, counters
    "loads",  # messages that read memory or images
    "stores",  # messages that write
    "slm_loads",  # messages that read local memory
    "barriers",  # a signal and its wait count once
    "control",  # branches, joins, sync, nop
    "others",  # other arithmetic on floats and other messages, such as fences and prefetches
)
# The figure of a loop that sums up the amounts of a kind. Multiply-adds are counted per work-item.
AMOUNTS = {"multiply": "mads", "dpas": "dpas_macs", "loads": "load_bytes"}

# Attributes of a kernel, by their names in .ze_info.
ATTRIBUTES = {
    "simd": "simd_size", "registers": "grf_count", "slm": "slm_size", "spill": "spill_size",
    "private_memory": "private_size",
}
# The buffers by which ocloc 22.43 states the last two attributes
BUFFERS = {"spill_fill_space": "spill", "single_space": "private_memory",
           "private_space": "private_memory"}

# A line without its comment: predicate, operation, lanes, result and operands, up to the brace at
# which the scoreboard annotation begins.
LINE = re.compile(r" *(?:(\(\S+\)) +)?(\S+) *(?:\((\d+)\|\S+\))?([^{]*)")
# Operations that are neither messages nor arithmetic, by their names up to the first dot.
MOVES = {"mov", "movi", "sel", "csel"}
# The operand with the label to which all lanes together branch. goto, break and cont have two: the
# first is for lanes that wait, the second for all. join and endif branch only for lanes that wait.
LABELS = dict.fromkeys(("jmpi", "while", "if", "else", "brc", "brd"), 0)
LABELS |= dict.fromkeys(("goto", "break", "cont"), 1)
CONTROLS = {*LABELS, "join", "endif", "halt", "call", "calla", "ret", "sync", "wait", "nop"}
# Operations that the next instruction follows only if they have a predicate
LEAVES = {"jmpi", "goto", "break", "cont", "ret"}

FLOATS = {"f", "hf", "bf", "df"}
# Bits of the types in dpas whose names do not state them
DPAS_TYPES = {"bf": 16, "hf": 16, "b": 8, "ub": 8}
# Bits of each operand that dpas multiplies per lane, row and step of its depth.
DPAS_BITS = 32
# The surface number of local memory in descriptors of messages before LSC.
SLM_SURFACE = 0xFE


@dataclass
class Instruction:
    operation: str
    predicated: bool
    lanes: int
    operands: list
    comment: str
    kind: str = ""
    amount: float = 0  # multiply-adds of all lanes together, or bytes of a load
    target: int | None = None  # index of the instruction to which it may branch
    stops: bool = False  # the next instruction never follows it

    @property
    def name(self):
        return self.operation.split(".")[0]

    def type(self, operand):
        """The type of an operand, after its colon: "f", "ud" ..."""
        return "".join(self.operands[operand : operand + 1]).partition(":")[2]


def split_line(line):
    """The line as an Instruction, its label, or None."""
    code, _, comment = line.partition("//")
    found = LINE.match(code)
    if not found or found[2].startswith("illegal"):
        return None
    predicate, operation, lanes, rest = found.groups()
    if operation.endswith(":"):
        return operation[:-1]
    operands = [word for word in rest.split() if ")f" not in word]  # without a condition
    predicated = predicate not in (None, "(W)")
    return Instruction(operation, predicated, int(lanes or 1), operands, comment)


def read_dpas(one):
    """Counts the multiply-adds of "dpas.8x4 (16|M0)": 8 steps deep, 4 rows of results in each lane.
    With a null accumulator it counts as other arithmetic: on Xe-HPG compilers emit one first, and
    do not use its result."""
    if one.operands[1].startswith("null"):
        return "others", 0
    depth, rows = map(int, one.operation.split(".")[1].split("x"))
    digits = re.search(r"\d+", one.type(2))
    bits = DPAS_TYPES.get(one.type(2)) or (int(digits[0]) if digits else DPAS_BITS)
    return "dpas", one.lanes * depth * rows * DPAS_BITS / bits


def read_arithmetic(one):
    """(kind, amount)"""
    is_float = one.type(0) in FLOATS
    if one.name in MOVES:
        return "moves", 0
    if one.name in ("dpas", "dpasw"):
        return read_dpas(one)
    if one.name in ("mad", "mac") and is_float:
        return "multiply", one.lanes
    if one.name == "dp4a":
        return "multiply", 4 * one.lanes
    return "others" if is_float or one.name == "math" else "integers", 0


def is_slm(one):
    """True for a message to local memory. Its descriptor is the last hexadecimal operand."""
    numbers = [int(word.partition(":")[0], 16) for word in one.operands if word.startswith("0x")]
    on_surface = bool(numbers) and numbers[-1] & 0xFF == SLM_SURFACE
    before_lsc = re.search("untyped|byte|oword", one.comment) is not None
    return ".slm." in one.comment or (before_lsc and on_surface)


def count_bytes(one, read, register_bytes):
    """The bytes of a load: those of its registers, or fewer if the message states fewer.
    "load.ugm.d32x4t.a64" loads 4 x 32 bits for the thread; without the t, for each lane."""
    whole = read * register_bytes
    size = re.search(r"\.d(\d+)(?:u32)?(?:x(\d+))?(t?)", one.comment)
    if size is None or "load_" in one.comment:
        return whole
    return min(whole, int(size[1]) // 8 * int(size[2] or 1) * (1 if size[3] else one.lanes))


def read_message(one, register_bytes):
    """(kind, amount)"""
    read = re.search(r"rd:(\d+)", one.comment)
    registers = int(read[1]) if read else 0
    if "barrier" in one.comment:
        return "barriers", 0
    if re.search("end of thread|fence|atomic", one.comment):
        return "others", 0
    if registers == 0 and " load" not in one.comment:
        return "others" if is_slm(one) else "stores", 0
    if one.operands[:1] == ["null"]:
        return "others", 0
    if is_slm(one):
        return "slm_loads", 0
    return "loads", count_bytes(one, registers, register_bytes)


def read_listing(text, register_bytes):
    """The Instructions of a kernel's listing, for a GPU with registers of that size."""
    instructions = []
    places = {}
    for line in text.split("\n"):
        one = split_line(line)
        if isinstance(one, str):
            places[one] = len(instructions)
        elif one:
            instructions.append(one)
    for one in instructions:
        if one.name in CONTROLS:
            one.kind = "control"
            one.stops = one.name == "else" or (not one.predicated and one.name in LEAVES)
            if one.name in LABELS:
                one.target = places.get(one.operands[LABELS[one.name]])
        elif one.name.startswith("send"):
            one.kind, one.amount = read_message(one, register_bytes)
            one.stops = "end of thread" in one.comment
        else:
            one.kind, one.amount = read_arithmetic(one)
    return instructions


def find_path(instructions, head, tail, own):
    """The instructions of the best path from the head of a loop to its branch back. own(i) is False
    for an instruction of an inner loop, which is passed once."""
    # The best path to each instruction: multiply-adds, bytes, and minus the number of instructions.
    best = {head: (0, 0, 0)}
    previous = {}
    for i in range(head, tail + 1):
        if i not in best:
            continue
        one, way = instructions[i], best[i]
        if own(i):
            # A full tile takes the conditional loads.
            mads, loaded = (0, one.amount) if one.kind == "loads" else (one.amount, 0)
            way = (way[0] + mads, way[1] + loaded, way[2] - 1)
        for to in [*([] if one.stops else [i + 1]), one.target]:
            if to is not None and i < to <= tail and (to not in best or way > best[to]):
                best[to] = way
                previous[to] = i
    path = []
    at = tail if tail in best else None
    while at is not None:
        if own(at):
            path.append(instructions[at])
        at = previous.get(at)
    return path


def count(path, simd):
    """The figures of the instructions on a path."""
    loop = {"instructions": len(path)} | dict.fromkeys([*KINDS, *AMOUNTS.values()], 0)
    for one in path:
        loop[one.kind] += 1
        if one.kind in AMOUNTS:
            loop[AMOUNTS[one.kind]] += one.amount / (1 if one.kind == "loads" else simd)
    return loop


def is_resource_loop(loop, instructions):
    """True for a loop over resources. It takes the first remaining lane and all lanes with the same
    surface, and sends one message for them."""
    finds_lane = any(one.name == "fbl" for one in instructions)
    return finds_lane and loop["multiply"] == 0 and loop["loads"] + loop["stores"] > 0


def find_loops(instructions, simd):
    """{instructions, resource_loops, hot, density, loops}; see above."""
    # A loop has one head, and ends at the last branch back to it. Outer loops come first.
    branches = [(one.target, i) for i, one in enumerate(instructions) if one.target is not None]
    spans = sorted({head: tail for head, tail in branches if head <= tail}.items())
    innermost = {i: n for n, (head, tail) in enumerate(spans) for i in range(head, tail + 1)}
    loops = []
    for n, (head, tail) in enumerate(spans):
        path = find_path(instructions, head, tail, lambda i, n=n: innermost[i] == n)
        parent = max((other for other in range(n) if spans[other][1] >= tail), default=-1)
        loops.append({"parent": parent} | count(path, simd))
    outer = {loop["parent"] for loop in loops}
    resource_loops = sum(
        n not in outer and is_resource_loop(loops[n], instructions[head : tail + 1])
        for n, (head, tail) in enumerate(spans)
    )
    mads = [loop["mads"] + loop["dpas_macs"] for loop in loops]
    hot, density = -1, 0.0
    if any(mads):
        hot = max(range(len(loops)), key=lambda n: (mads[n], -loops[n]["instructions"]))
        density = (loops[hot]["mads"] + loops[hot]["dpas"]) / loops[hot]["instructions"]
    return {
        "instructions": len(instructions), "resource_loops": resource_loops, "hot": hot,
        "density": density, "loops": loops,
    }


# The figures of a kernel that was not compiled.
NONE = dict.fromkeys(ATTRIBUTES, 0) | find_loops([], 1)


def read_attributes(folder, entry):
    """{simd, registers, slm, spill, private_memory} of a kernel; see above.

    folder has the disassembler's output, with .ze_info, which is YAML. None if it does not describe
    the kernel."""
    text = (folder / ".ze_info").read_text(encoding="utf-8").partition("\nkernels_misc")[0]
    _, *parts = re.split(r"^  - name: +(.*?) *$", text, flags=re.M)
    body = dict(zip(parts[::2], parts[1::2])).get(entry)
    if body is None:
        return None
    numbers = dict(re.findall(r"^[ -]*(\w+): *(\d+)", body, flags=re.M))
    attributes = {name: int(numbers.get(key, 0)) for name, key in ATTRIBUTES.items()}
    if not attributes["spill"] + attributes["private_memory"]:
        for usage, size in re.findall(r"usage: +(\w+)\n +size: +(\d+)", body):
            attributes[BUFFERS[usage]] += int(size)
    return attributes
