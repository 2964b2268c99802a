# SPDX-License-Identifier: LGPL-2.1-or-later
"""OpenCL that fails on request: the layer of faults.h, which also counts objects."""

import ctypes
import os
import random
from ctypes import CFUNCTYPE, Structure, c_int

from gemmcl import IS_BRIEF, Refused, TestCase, get_array
from library import fields
from tap_unittest import tap

BRIEF_CASES = 8  # of a sweep, at random among all calls
NONE, ONE, REST, LATE, LOST, MUTE, ASK, DEAD = range(8)  # FaultsMode
MODES = {"one": ONE, "rest": REST, "late": LATE, "lost": LOST, "mute": MUTE, "ask": ASK,
         "dead": DEAD}


class State(Structure):
    _fields_ = fields("int is_loaded calls strikes held, text failed") + [("objects", c_int * 6)]


class Layer(Structure):
    _fields_ = [("get_state", CFUNCTYPE(State)), ("set", CFUNCTYPE(None, c_int, c_int)),
                ("hold", CFUNCTYPE(None, c_int, c_int))]


LAYER = Layer.in_dll(ctypes.CDLL(os.environ["OPENCL_LAYERS"].split(":")[0]), "gemmcl_faults")


class FailingTestCase(TestCase):
    """A test that is skipped where OpenCL's loader does not load the layer."""

    def setUp(self):
        TestCase.setUp(self)  # not that of stream.py, which opens a device
        try:
            get_array("list_devices", None)  # OpenCL's loader loads its layers.
        except Refused as error:
            self.skipTest(str(error))
        if not LAYER.get_state().is_loaded:
            self.skipTest("OpenCL's loader does not load layers")

    def has_no_objects(self):
        """No object is left. Threads may hold some for a while."""
        tap.wait_until(lambda: not any(LAYER.get_state().objects))
        self.assertEqual(list(LAYER.get_state().objects), [0] * 6)

    def sweep(self, run, mode):
        """Runs run(mode, call) for some or all calls. Returns how many reported errors."""
        self.assertFalse(run(NONE, 0))
        self.assertFalse(run(ONE if mode == REST else mode, 0))
        self.has_no_objects()
        calls, step, n, cases, reported = LAYER.get_state().calls, 1, 1, 0, 0
        if IS_BRIEF:
            step = calls // BRIEF_CASES + 1
        while n <= calls:
            reported += run(mode, n)
            self.has_no_objects()
            n += random.randrange(1, 2 * step)
            cases += 1
        print(f"# {cases} of {calls} calls: {reported} errors, the other results are right")
        return reported
