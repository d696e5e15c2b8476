// RE2 through a C face: what CEL's `matches` and the regex library need of it, and a byte search that Glibc's module does not export.
#ifndef CRE2_H
#define CRE2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cre2_regex cre2_regex;

typedef struct {
    ptrdiff_t start;  // -1 where the group took no part in the match
    ptrdiff_t end;
} cre2_span;

// Compiles a pattern; never null. Ask cre2_error before use. max_memory bounds the automaton, in bytes.
cre2_regex *cre2_new(const char *pattern, size_t length, int64_t max_memory);
void cre2_delete(cre2_regex *regex);

// The reason why the pattern was refused, or null where it is good.
const char *cre2_error(const cre2_regex *regex);

// The number of capturing groups, without the whole match.
int cre2_groups(const cre2_regex *regex);

// How many instructions the pattern became; negative where it was refused.
int cre2_size(const cre2_regex *regex);

// Whether the pattern is found anywhere in the text at or after start; fills count spans (the whole match first) where it is.
bool cre2_match(const cre2_regex *regex, const char *text, size_t length, size_t start, cre2_span *spans, int count);

// The same, but the match ends at or before end. What stands there and behind it is still seen as what follows the match.
bool cre2_match_within(
    const cre2_regex *regex, const char *text, size_t length, size_t start, size_t end, cre2_span *spans, int count);

// The offset of the first occurrence of the needle, or -1.
ptrdiff_t cre2_find(const void *text, size_t length, const void *needle, size_t needle_length);

#ifdef __cplusplus
}
#endif

#endif
