// Types and constants only: the library itself is loaded when the first mail is sent (CurlLibrary.swift), because it and the 30
// libraries that it needs cost every start of the program 7 ms and 6 MB.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

// curl_easy_setopt takes variable arguments, which Swift cannot pass. `set` is that function.
static inline CURLcode bellhop_curl_set_number(void *set, CURL *curl, CURLoption option, long value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))set)(curl, option, value);
}

static inline CURLcode bellhop_curl_set_size(void *set, CURL *curl, CURLoption option, curl_off_t value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))set)(curl, option, value);
}

static inline CURLcode bellhop_curl_set_pointer(void *set, CURL *curl, CURLoption option, const void *value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))set)(curl, option, value);
}

static inline CURLcode bellhop_curl_set_reader(void *set, CURL *curl, curl_read_callback value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))set)(curl, CURLOPT_READFUNCTION, value);
}

static inline CURLcode bellhop_curl_set_debugger(void *set, CURL *curl, curl_debug_callback value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))set)(curl, CURLOPT_DEBUGFUNCTION, value);
}

static inline CURLcode bellhop_curl_set_socket_options(void *set, CURL *curl, curl_sockopt_callback value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))set)(curl, CURLOPT_SOCKOPTFUNCTION, value);
}

static inline CURLcode bellhop_curl_set_progress(void *set, CURL *curl, curl_xferinfo_callback value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))set)(curl, CURLOPT_XFERINFOFUNCTION, value);
}
