#pragma once

/// How often this thread has asked for memory since it began: every malloc, calloc, realloc and aligned allocation.
unsigned long bench_allocations(void);
