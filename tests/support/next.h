/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <dlfcn.h>

/** NEXT: the function @name that one of this name hides. Needs _GNU_SOURCE. */
#define NEXT(name) ((__typeof__ (&name))dlsym (RTLD_NEXT, #name))
