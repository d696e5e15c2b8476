#include "include/CRE2.h"

#include <re2/re2.h>
#include <string.h>

#include <string>
#include <vector>

struct cre2_regex {
    RE2 re;
    cre2_regex(const re2::StringPiece &pattern, const RE2::Options &options) : re(pattern, options) {}
};

extern "C" cre2_regex *cre2_new(const char *pattern, size_t length, int64_t max_memory) {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(max_memory);
    return new cre2_regex(re2::StringPiece(pattern, length), options);
}

extern "C" void cre2_delete(cre2_regex *regex) { delete regex; }

extern "C" const char *cre2_error(const cre2_regex *regex) {
    return regex->re.ok() ? nullptr : regex->re.error().c_str();
}

extern "C" int cre2_groups(const cre2_regex *regex) { return regex->re.NumberOfCapturingGroups(); }

extern "C" int cre2_size(const cre2_regex *regex) { return regex->re.ProgramSize(); }

extern "C" bool cre2_match(const cre2_regex *regex, const char *text, size_t length, size_t start, cre2_span *spans, int count) {
    return cre2_match_within(regex, text, length, start, length, spans, count);
}

extern "C" bool cre2_match_within(
    const cre2_regex *regex, const char *text, size_t length, size_t start, size_t end, cre2_span *spans, int count
) {
    if (start > end || end > length) return false;
    re2::StringPiece few[8];
    std::vector<re2::StringPiece> many;
    re2::StringPiece *groups = few;
    if (count > 8) {
        many.resize(count);
        groups = many.data();
    }
    if (!regex->re.Match(re2::StringPiece(text, length), start, end, RE2::UNANCHORED, groups, count)) return false;
    for (int i = 0; i < count; i++) {
        if (groups[i].data() == nullptr) {
            spans[i] = {-1, -1};
        } else {
            spans[i].start = groups[i].data() - text;
            spans[i].end = spans[i].start + static_cast<ptrdiff_t>(groups[i].size());
        }
    }
    return true;
}

extern "C" ptrdiff_t cre2_find(const void *text, size_t length, const void *needle, size_t needle_length) {
    const void *found = memmem(text, length, needle, needle_length);
    return found == nullptr ? -1 : static_cast<const char *>(found) - static_cast<const char *>(text);
}
