/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <dlfcn.h>

/** NEXT: the function @name of the library behind, which one of the same name here hides. Needs
 * _GNU_SOURCE. */
#define NEXT(name) ((__typeof__ (&name))dlsym (RTLD_NEXT, #name))
