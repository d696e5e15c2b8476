#ifndef CMALLOC_SHIM_H
#define CMALLOC_SHIM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <link.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/// Frees the read-only pages of one loaded file.
static inline int give_file_back(struct dl_phdr_info *file, size_t size, void *unused) {
    (void)size;
    (void)unused;
    // The kernel's own part has no file.
    if (strncmp(file->dlpi_name, "linux-vdso", 10) == 0) return 0;
    uintptr_t page = (uintptr_t)getpagesize();
    for (int number = 0; number < file->dlpi_phnum; number++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[number];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_W)) continue;
        uintptr_t start = (file->dlpi_addr + part->p_vaddr) / page * page;
        uintptr_t end = (file->dlpi_addr + part->p_vaddr + part->p_memsz + page - 1) / page * page;
        madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

/// Frees the pages of code and constants of the program and its libraries. They stay mapped, and the system reads them again from its
/// cache when they are needed, 64 KB at a time.
///
/// A part that may be written is left alone, even if it no longer may be: constants that hold addresses were written when it was
/// loaded. Nothing is loaded or unloaded meanwhile (dl_iterate_phdr(3)).
static inline void give_files_back(void) { dl_iterate_phdr(give_file_back, NULL); }

#endif
