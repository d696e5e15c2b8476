#define _GNU_SOURCE
#include "CMalloc.h"
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/// Frees the read-only pages of one loaded file.
static int give_file_back(struct dl_phdr_info *file, size_t size, void *unused) {
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

void give_files_back(void) { dl_iterate_phdr(give_file_back, NULL); }

void keep_freed_memory(void) {
    mallopt(M_TRIM_THRESHOLD, 4 << 20);
    // Once one limit is set, the other no longer adapts: each block over 128 KB would be mapped and unmapped, and its pages cleared.
    mallopt(M_MMAP_THRESHOLD, 2 << 20);
}
