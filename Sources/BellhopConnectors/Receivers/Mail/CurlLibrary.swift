import BellhopCore
import CLibCurl
import Glibc

/// The functions of the system's libcurl, loaded with the first mail: loading takes time and memory, and most installations send
/// none.
struct CurlLibrary: @unchecked Sendable {  // contains only pointers to functions
    typealias Handle = UnsafeMutableRawPointer

    let easyInit: @convention(c) () -> Handle?
    let easyPerform: @convention(c) (Handle?) -> CURLcode
    let easyCleanup: @convention(c) (Handle?) -> Void
    private let easySetOption: UnsafeMutableRawPointer
    let listAppend: @convention(c) (UnsafeMutablePointer<curl_slist>?, UnsafePointer<CChar>?) -> UnsafeMutablePointer<curl_slist>?
    let listFree: @convention(c) (UnsafeMutablePointer<curl_slist>?) -> Void

    /// The reason why the library cannot be used.
    struct Missing: Error, Sendable, Hashable {
        /// One sentence.
        var message: String
    }

    private static let name = "libcurl.so.4"

    private static let loaded: Result<CurlLibrary, Missing> = {
        do throws(Missing) { return .success(try CurlLibrary()) } catch { return .failure(error) }
    }()

    static func load() throws(Missing) -> CurlLibrary { try loaded.get() }

    private init() throws(Missing) {
        guard let library = dlopen(Self.name, RTLD_NOW | RTLD_LOCAL) else {
            throw Missing(
                message:
                    "Mail is sent by the system's libcurl, and there is no \(Self.name): install it (Debian's package is libcurl4)."
            )
        }
        func find<Function>(_ name: String, _ type: Function.Type) throws(Missing) -> Function {
            guard let address = dlsym(library, name) else {
                throw Missing(message: "The system's \(Self.name) has no \(name): mail needs libcurl 7.69 or later.")
            }
            return unsafeBitCast(address, to: type)
        }
        easyInit = try find("curl_easy_init", (@convention(c) () -> Handle?).self)
        easyPerform = try find("curl_easy_perform", (@convention(c) (Handle?) -> CURLcode).self)
        easyCleanup = try find("curl_easy_cleanup", (@convention(c) (Handle?) -> Void).self)
        easySetOption = try find("curl_easy_setopt", UnsafeMutableRawPointer.self)
        listAppend = try find(
            "curl_slist_append",
            (@convention(c) (UnsafeMutablePointer<curl_slist>?, UnsafePointer<CChar>?) -> UnsafeMutablePointer<curl_slist>?).self)
        listFree = try find("curl_slist_free_all", (@convention(c) (UnsafeMutablePointer<curl_slist>?) -> Void).self)
        let start = try find("curl_global_init", (@convention(c) (Int) -> CURLcode).self)
        guard start(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK else {
            throw Missing(message: "The system's libcurl cannot be started.")
        }
    }

    // MARK: Options

    func set(_ handle: Handle, _ option: CURLoption, _ number: Int) {
        _ = bellhop_curl_set_number(easySetOption, handle, option, number)
    }

    func setSize(_ handle: Handle, _ option: CURLoption, _ size: Int) {
        _ = bellhop_curl_set_size(easySetOption, handle, option, curl_off_t(size))
    }

    /// The library copies the text.
    func set(_ handle: Handle, _ option: CURLoption, _ text: String) {
        _ = text.withCString { bellhop_curl_set_pointer(easySetOption, handle, option, $0) }
    }

    func set(_ handle: Handle, _ option: CURLoption, _ pointer: UnsafeRawPointer?) {
        _ = bellhop_curl_set_pointer(easySetOption, handle, option, pointer)
    }

    func setReader(_ handle: Handle, _ function: curl_read_callback) {
        _ = bellhop_curl_set_reader(easySetOption, handle, function)
    }

    func setDebugger(_ handle: Handle, _ function: curl_debug_callback) {
        _ = bellhop_curl_set_debugger(easySetOption, handle, function)
    }

    /// - Parameter function: called with each socket before it connects.
    func setSocketOptions(_ handle: Handle, _ function: curl_sockopt_callback) {
        _ = bellhop_curl_set_socket_options(easySetOption, handle, function)
    }

    func setProgress(_ handle: Handle, _ function: curl_xferinfo_callback) {
        _ = bellhop_curl_set_progress(easySetOption, handle, function)
    }
}
