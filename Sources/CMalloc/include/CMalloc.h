#ifndef CMALLOC_H
#define CMALLOC_H

#include <malloc.h>

/// Frees the pages of code and constants of the program and its libraries. They stay mapped, and the system reads them again from its
/// cache when they are needed, 64 KB at a time.
///
/// A part that may be written is left alone, even if it no longer may be: constants that hold addresses were written when it was
/// loaded. Nothing is loaded or unloaded meanwhile (dl_iterate_phdr(3)).
void give_files_back(void);

/// Lets the C library keep up to 4 MB of freed memory per arena, from blocks of up to 2 MB. By default, it gives memory back from 128 KB on,
/// and a thread that allocates and frees more than that for each piece of work spends a seventh of its time on this (benchmark `inbound`).
void keep_freed_memory(void);

#endif
