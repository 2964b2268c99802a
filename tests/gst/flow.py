# SPDX-License-Identifier: LGPL-2.1-or-later
"""The flow of data, events, states and new operands, with numbers that are easy to follow, on one
device and, with GEMMCL_TEST_DEVICES, on several. script.py explains the steps."""

import os
from functools import partialmethod

from gemmcl import get_array
from script import run
from stream import OK, Gst, TestCase, audio, main, np, tensors, video
from tap_unittest import tap

ONE, FASTER, PAIR = tensors("1:1"), tensors("1:1", rate="20/1"), tensors("2:1")
TWO = tensors("2:1,2:1", "float32,float32")
MONO, STEREO, SAMPLES = audio("F32LE", 1), audio("F32LE", 2), audio("S16LE", 1)
GRAY = video("GRAY8", 2, 2)
# For each number x, the row x, 2 x, 3 - x; then its sum, its maximum and the column of the maximum.
ROWS = "weight=[[1,2,-1]] bias=[0,0,3] row-outputs=sum+max+arg-max"
SEVERAL = "gemmcl name=a auto-tune=off devices=all"

# Each stream: the element's settings or all elements, the steps, and the caps of both sides.
SCRIPTS = {
    "states": ("weight=[2]", "ready; play; ready; play; 1; 2; > 2; > 4; ready; input-offset=1; "
               "weight=[3]; activation=relu; play; 3; -3; 4; > 12; > 0; > 15; eos; > E"),
    "new_caps": ("weight=[[1,2],[3,4]]",
                 f"1 0; 0 1; 1 1; caps {tensors('2:3')}; 1 0 0 1 1 1; "
                 "> 1 2; > 3 4; > 4 6; > 1 2 3 4 4 6", PAIR),
    "addend_and_bias": ("weight=[2] addend=[10] beta=.5 bias=[100] alpha=3",
                        "1; > 111; 1; > 111; beta=1; alpha=0; 1; > 110"),
    "flush": ("weight=[2]", "1; > 2; flush; 4; 5; > 8; > 10"),
    "never_waits": ("weight=[2] queue-depth=4",
                    "1; > 2; 2; > 4; 3; > 6; 4; 5; 6; > 8; > 10; > 12; 7; > 14"),
    "events_follow": ("weight=[2] queue-depth=4",
                      "1; 2; 3; gap; > 2; > 4; > 6; > e; 1; mark; D 2; mark; > 2; > e; > D 4; > e; "
                      "1; 2; eos; > 2; > 4; > E"),
    "wrong_buffer": ("weight=[2] queue-depth=4", "1; 2; fail 8|bytes 1 2; > 2; > 4"),
    "any_length": ("weight=[[.5],[.25]]",  # also longer than the first plan's M
                   "10*2; 2048*4; > 5*1.5; > 1024*3; 2050*2; 6*4; > 1025*1.5; > 3*3; 10000*2; 2 4; "
                   "> 5000*1.5; > 2", STEREO),
    "alpha": ("weight=[1]", "1; alpha=2; 1; alpha=3; 1; alpha=4; 1; > 1; > 2; > 3; > 4"),
    "change_same_shape": (
        "weight=[[1],[2]] bias=[0]",
        "1 1; 1 1; > 3; > 3; weight=[[10],[20]]; 1 1; > 30; bias=[5]; 1 1; 1 1; > 35; > 35; bias=; "
        "1 1; > 30; addend=[7]; beta=1; 1 1; > 37; addend=[8]; 1 1; > 38", PAIR),
    # 2 x + 1 and 3 x - 1: the offsets are a part of the bias, which thus changes with the weight.
    "change_lists": (
        "weight=[[1],[2]] input-scale=<2,3> input-offset=<1,-1>",
        "1 1; 1 1; > 7; > 7; weight=[[10],[20]]; 1 1; 1 1; > 70; > 70; bias=[5]; 1 0; > 15; "
        "weight=[[1],[3]]; 1 1; > 14; bias=; 1 1; > 9; weight=[[1,0],[0,1]]; 1 1; > 3 2; alpha=2; "
        "fail alpha|is|2,|but|a|list 1 1", PAIR),
    "change_values": (
        "weight-matrix=<<1,2>,<3,4>> bias-vector=<0.5,0>",
        "1 1; > 4.5 6; bias-vector=<>; weight-matrix=<<10>,<20>>; bias-vector=<1>; 1 1; > 31; "
        "weight=[[1],[1]]; 1 1; > 3; bias-vector=<>; 1 1; > 2; ready; weight-matrix=<<7>,<8>>; "
        "play; 1 1; > 15", PAIR),
    "change_other_n": ("weight=[[1],[2]]", "1 1; 1 1; weight=[[1,2,3],[4,5,6]]; bias=[1,1,1]; 1 1; "
                       "1 1; > 3; > 3; > 6 8 10; > 6 8 10", PAIR),
    "change_refused": (
        "weight=[[1],[2]] bias=[1]",
        "refuse /nonexistent.npy weight=/nonexistent.npy; 1 1; > 4; refuse weight=[[1],[2] "
        "weight=[[1],[2]; refuse K|=|3 weight=[[1],[2],[3]]; refuse bias|is|1|x|1 "
        "weight=[[1,2],[3,4]]; refuse The|weight|cannot|be|removed weight=; refuse 1|x|2 "
        "bias=[1,2]; refuse 1|x|2 addend=[1,2]; 1 1; > 4", PAIR),
    "change_downstream_refuses": (
        "weight=[[1],[3]]", "1 1; > 4; refuse N|=|2 weight=[[1,2],[3,4]]; 1 1; > 4", PAIR,
        "other/tensors,dimensions=(string)1:1"),
    "change_in_ready": (
        "weight=[[1],[3]]",
        "ready; refuse /nonexistent.npy weight=/nonexistent.npy; weight=[[2],[3]]; play; 1 1; > 5",
        PAIR),
    "types_downstream": ("weight=[[2],[3]]", "1 1; > 5; 100 -10; > 170; 100 100; > 255; -1 0; > 0",
                         PAIR, "other/tensors,types=(string)uint8"),
    "types_scaled": ("weight=[[2],[3]] output-type=u8 output-scale=.5 output-offset=-1",
                     "1 1; > 12; -1 0; > 0", PAIR),
    "types_auto_scaled": ("weight=[[2],[3]] output-scale=2", "1 2; > 4", PAIR,
                          "other/tensors,types=(string){float32,uint8}"),
    # Integers are rounded to nearest, halves to even, and saturated.
    "types_rounding": ("weight=[.5]",
                       "1 3 5 -1 -3 32767 -32768 0; > 0 2 2 0 -2 16384 -16384 0", SAMPLES),
    "types_saturation": ("weight=[1e6]",
                         "1 3 -1 32767 -32768 0; > 32767 32767 -32768 32767 -32768 0", SAMPLES),
    "batch_ends": (
        "weight=[2] batch-size=3 batch-timeout=0",
        "0; 1; -; 2; > 0; > 2; > 4; 7; -; D 8; > 14; -; alpha=10; 9; > D 16; -; eos; > 180; > E"),
    "batch_flush": ("weight=[2] batch-size=2 batch-timeout=0", "1; flush; 5; 6; > 10; > 12"),
    "batch_addend": ("weight=[2] batch-size=2 beta=.5 addend=[4]", "1; 2; > 4; > 6"),
    "batch_addend_alone": (
        "weight=[2] batch-size=2 batch-timeout=0 addend=[4]",
        "1; 2; > 6; > 8; 1; -; addend=[5]; 1; > 6; 1; > 7; > 7; 1; beta=1; 1; > 7; > 7"),
    "batch_other_n": (
        "weight=[2] batch-size=4 batch-timeout=0",
        "1; 1; weight=[[3,3]]; -; 1; > 2; > 2; 1; 1; -; 1; > 3 3; > 3 3; > 3 3; > 3 3"),
    "batch_events": (
        "weight=[2] batch-size=3 batch-timeout=0",
        "mark; > e; 1; mark; tag; 2; gap; -; 3; > 2; > e; > e; > 4; > e; > 6; mark; > e; 4; mark; "
        "-; eos; > 8; > e; > E"),
    # With batch-timeout=0 a batch ends only when it is full.
    "batch_timeout": ("weight=[2] batch-size=4 batch-timeout=50000000",
                      "1; mark; 2; mark; > 2; > e; > 4; > e; 3; > 6"),
    # A DISCONT ends the batch before its buffer; the timeout then ends that buffer's batch.
    "batch_timeout_and_discont": ("weight=[2] batch-size=4 batch-timeout=50000000",
                                  "1; D 2; > 2; > D 4; 3; > 6"),
    "rows_tensors": (ROWS, "0; 1; -3; > 0 0 3 3 3 2; > 1 2 2 5 2 1; > -3 -6 6 -3 6 2"),
    "rows_batch": (f"{ROWS} batch-size=2",
                   "1 2; 3 -4; > 1 2 2 2 4 1 5 2 1 7 4 1; > 3 6 0 -4 -8 7 9 6 1 -5 7 2",
                   tensors("1:2")),
    # With output=rows, row outputs leave in place of D.
    "rows_alone": (f"{ROWS} output=rows", "0; 1; -3; > 3 3 2; > 5 2 1; > -3 6 2"),
    "rows_alone_batch": (f"{ROWS} output=rows batch-size=2",
                         "1 2; 3 -4; > 5 2 1 7 4 1; > 9 6 1 -5 7 2", tensors("1:2")),
    "rows_alone_second_tensor": ("weight=[[1,1],[1,0]] tensor-index=1 row-outputs=max output=rows",
                                 "7 8 1 2; > 7 8 3; 0 9 -4 5; > 0 9 1", TWO),
    "rows_alone_other_n": ("weight=[[1,2]] row-outputs=arg-max output=rows addend=[[0,2]]",
                           "1; > 1; addend=; weight=[[0,3,4,1]]; 1; > 2"),
    "rows_alone_frames": ("weight=[1] feature-mode=pixel row-outputs=max output=rows",
                          "1 2 7 9; > 1 2 7 9", GRAY),
    "rows_alone_beta": ("weight=[1] beta=.5 row-outputs=max output=rows",
                        "fail only|row|outputs|leave 1"),
    # D lies between the tensors that pass through, and row outputs are the last tensor.
    "rows_second_tensor": ("weight=[[1,1],[1,0]] tensor-index=1 row-outputs=max",
                           "7 8 1 2; > 7 8 3 1 3; 0 9 -4 5; > 0 9 1 -4 1", TWO),
    "rows_second_tensors_in_batch": ("weight=[[1,1],[1,0]] tensor-index=1 batch-size=2",
                                     "7 8 1 2; 0 9 -4 5; > 7 8 3 1; > 0 9 1 -4", TWO),
    "rows_first_tensor": ("weight=[[1,1],[1,0]] row-outputs=sum+top-k top-k=2",
                          "1 2 7 8; > 3 1 7 8 4 3 1 0 1", TWO),
    # Frames of one channel would stay frames; with row outputs they become tensors.
    "rows_frames": ("weight=[1] feature-mode=pixel row-outputs=max+arg-max",
                    "1 2 7 9; > 1 2 7 9 1 0 2 0 7 0 9 0", GRAY),
    "rows_top_k": (
        "weight=[[1,2,-1]] bias=[0,0,3] row-outputs=arg-max+top-k top-k=2",
        "1; > 1 2 2 1 2 2 1 2; -3; > -3 -6 6 2 6 -3 2 0; bias=; refuse top-k|is|2 weight=[[1]]; "
        "weight=[[0,3,1,4]]; 1; > 0 3 1 4 3 4 3 3 1"),
    "rows_of_frames": ("weight=[[1],[2]] input-scale=.5 input-offset=1", "2 4 6 8; > 8 14", GRAY),
    # The output of a convolution is the input of the next convolution.
    "convolutions": (
        "feature-mode=patch patch-width=2 patch-height=2 weight=[[1,2],[1,2],[1,2],[1,2]] ! "
        "gemmcl feature-mode=patch patch-width=2 patch-height=1 weight=[[1],[0],[10],[100]]",
        "1 2 3 4 5 6 7 8; > 4634", video("GRAY8", 4, 2)),
}
ONE_DEVICE = {
    "previous_resets": ("weight=[1] beta=.5",
                        "4; > 4; 4; > 6; 4; > 7; D 4; > D 4; 4; > 6; flush; 4; > 4; 4; > 6; "
                        f"caps {FASTER}; 4; > 4"),
    "previous_other_length": (
        "weight=[1] beta=.5",
        "1 2 3 4; > 1 2 3 4; 1 2 3 4; > 1.5 3 4.5 6; 1 1 1; > 1 1 1; 1 2 3 4; > 1 2 3 4",
        audio("F64LE", 1)),
    "previous_other_n": ("weight=[1]",
                         "5; > 5; weight=[[1,1]]; beta=1; 7; > 7 7; 7; > 14 14; 7; > 21 21"),
    "previous_other_bias": (
        "weight=[1] beta=1",
        "40*1; > 40*1; 80*1; > 80*1; 80*1; > 80*2; bias=[10]; 80*1; > 80*13; bias=; 80*1; > 80*14; "
        "weight=[2]; 80*1; > 80*16", MONO),
    # The first buffer is longer than M of the first plan for audio.
    "previous_other_bias_and_plan": (
        "weight=[1] beta=1",
        "3000*1; > 3000*1; 80*1; > 80*1; 80*1; > 80*2; bias=[10]; 80*1; > 80*13", MONO),
    "previous_in_batch": ("weight=[2] batch-size=2 beta=.5 batch-timeout=0",
                          "fail beta|is|0.5,|batch-size|is|2 1"),
    # While beta is not set, an addend is added, but not a previous output.
    "addend_before_pool": ("weight=[1] addend=[10] pool=max pool-size=2",
                           "1 2 3 4; > 14; addend=; 1 2 3 4; > 4", tensors("1:2:2")),
    "addend_alone": ("weight=[2] addend=[10]", "1; > 12; addend=; 1; > 2; 1; > 2; addend=[5]; 1; "
                     "> 7; beta=.5; 1; > 4.5; addend=; 1; > 2; 1; > 3"),
    "rows_opencl_memory": (f"{ROWS} queue-depth=3",
                           "0; 1; -3; > 0 0 3 3 3 2; > 1 2 2 5 2 1; > -3 -6 6 -3 6 2", ONE,
                           "other/tensors(memory:OpenCL)"),
    "rows_alone_opencl_memory": (f"{ROWS} queue-depth=3 output=rows",
                                 "0; 1; -3; > 3 3 2; > 5 2 1; > -3 6 2", ONE,
                                 "other/tensors(memory:OpenCL)"),
}
SEVERAL_DEVICES = {
    # Runs with the old operands are in flight when new operands come.
    "devices_weights": (
        "weight=[[1],[2]] bias=[0]",
        "1 1; 1 1; 1 1; weight=[[10],[20]]; 1 1; 1 1; 1 1; bias=[5]; 1 1; 1 1; addend=[7]; beta=1; "
        "1 1; 1 1; beta=0; addend=; bias=; weight=[[1,2,3],[4,5,6]]; 1 1; 1 1; > 3; > 3; > 3; "
        "> 30; > 30; > 30; > 35; > 35; > 42; > 42; > 5 7 9; > 5 7 9; "
        "refuse K|=|3 weight=[[1],[2],[3]]", PAIR),
    "devices_memory": (f"gemmcl weight=[2] ! other/tensors(memory:OpenCL) ! {SEVERAL} weight=[3]",
                       "1; 2; 3; 4; > 6; > 12; > 18; > 24"),
    "devices_beta": ("weight=[2] beta=.5", "fail number|of|devices|is|2 1"),
}


class Flow(TestCase):
    """A test for each script."""

    def test_flushed_tag(self):
        """A flush drops the buffers of a batch, but not the tags between them."""
        stream = self.start(ONE, f"{element} weight=[2] batch-size=3 batch-timeout=0")
        tag = Gst.Event.new_tag(Gst.TagList.new_from_string("taglist, title=(string)t"))
        stream.push(np.float32(1))
        self.assertTrue(stream.src.push_event(tag))
        stream.flush()
        for value in 4, 5, 6:
            stream.push(np.float32(value))
        self.assertEqual(np.frombuffer(stream.pull(), "f4"), 8)
        found = stream.sink.get_sticky_event(Gst.EventType.TAG, 0)
        self.assertEqual(found and found.get_seqnum(), tag.get_seqnum())

    def test_linked_again(self):
        """Outputs that no one took do not count once the source pad is linked again."""
        stream = self.start(ONE, f"{element} weight=[2] batch-size=4 batch-timeout=1000000")
        source = stream["a" if "name=a" in element else None].get_static_pad("src")
        source.unlink(stream.sink)
        stream.push(np.float32(1))
        self.wait_for(lambda: stream.get_stat("buffers") == 1)
        stream.src.peer_query(Gst.Query.new_drain())  # waits for the thread that pushes
        source.link(stream.sink)
        self.assertEqual(stream.push(np.float32(2)), OK)
        self.assertEqual(np.frombuffer(stream.pull(), "f4"), 4)

    def test_too_early(self):
        """While the element starts, its pads are open, but it refuses buffers and events."""
        stream, seen = self.make(element), []

        def push(_bus, message, _data):
            if message.type == Gst.MessageType.ERROR:
                seen.append((stream.push(np.float32(1)), stream.push_caps(ONE)))
            return Gst.BusSyncReply.PASS
        stream.bus.set_sync_handler(push, None)
        self.assertEqual(stream.element.set_state(Gst.State.PAUSED), Gst.StateChangeReturn.FAILURE)
        self.assertEqual(seen, [(Gst.FlowReturn.FLUSHING, False)])
        stream.bus.set_sync_handler(None, None)
        self.says(stream, "No weight is set")


element, more = "gemmcl", ONE_DEVICE
if "GEMMCL_TEST_DEVICES" in os.environ:
    element, more = SEVERAL, SEVERAL_DEVICES
    if len(get_array("list_devices", None)) != 2:
        tap.skip_all("there are not 2 OpenCL devices")
for name, (settings, *script) in {**SCRIPTS, **more}.items():
    text = settings if settings.startswith("gemmcl") else f"{element} {settings}"
    setattr(Flow, f"test_{name}", partialmethod(run, text, *script))
main()
