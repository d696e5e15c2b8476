import BellhopCore
import Glibc

/// The Unix socket beside the store on which a running agent answers: one line of JSON each way, then the end.
///
/// `{"inquiry": …}` is answered with `{"result": …}` or `{"error": {"kind": …, "message": …}}`.
public enum ControlSocket {
    /// Where the socket of a store is. A path that is too long for a socket's address (108 bytes, unix(7)) is put into the run-time folder.
    public static func path(store: String, environment: [String: String]) -> String {
        let beside = store + ".sock"
        if beside.utf8.count < 100 { return beside }
        let folder = environment["XDG_RUNTIME_DIR"] ?? "/tmp"
        return "\(folder)/bellhop-\(Fingerprint.of("socket", absolute(store)).hex.prefix(16)).sock"
    }

    private static func absolute(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    static func reply(_ result: Result<JSON, InquiryError>) -> JSON {
        switch result {
        case .success(let value): ["result": value]
        case .failure(let error):
            [
                "error": [
                    "kind": .string(error.kind.rawValue), "message": .string(error.message), "store": .string(error.storeWord),
                ]
            ]
        }
    }

    static func result(of reply: JSON) -> Result<JSON, InquiryError> {
        if let value = reply["result"] { return .success(value) }
        let error = reply["error"]
        let kind = error?["kind"]?.asString.flatMap(InquiryError.Kind.init(rawValue:)) ?? .badRequest
        let message = error?["message"]?.asString ?? "The running agent gave no answer that can be read."
        return .failure(InquiryError(kind, message, storeKind: error?["store"]?.asString.flatMap(StoreError.Kind.init(word:))))
    }
}

extension InquiryError {
    fileprivate var storeWord: String { storeKind?.word ?? "" }
}

extension StoreError.Kind {
    static let words: [(StoreError.Kind, String)] = [
        (.full, "full"), (.busy, "busy"), (.damaged, "damaged"), (.newer, "newer"), (.cannotOpen, "cannot_open"),
        (.lost, "lost"), (.other, "other"),
    ]

    var word: String { Self.words.first { $0.0 == self }?.1 ?? "other" }

    init?(word: String) {
        guard let kind = Self.words.first(where: { $0.1 == word })?.0 else { return nil }
        self = kind
    }
}
