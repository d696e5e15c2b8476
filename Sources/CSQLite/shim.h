#include <sqlite3.h>

/// Lets SQLite keep no statistics of its memory, for which it would lock a mutex at each allocation. To be called before anything else.
static inline int bellhop_sqlite_keep_no_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
