package import BellhopCore

/// One line of an answer on the socket: a line for each row, then the end or an error. An answer without an end or an error is truncated.
package enum ControlFrame {
    case row(JSON)
    case end(JSON)
    case failure(InquiryError)

    package init?(line: [UInt8]) {
        guard let json = try? JSON.parse(line) else { return nil }
        if let row = json["row"] {
            self = .row(row)
        } else if let end = json["end"] {
            self = .end(end)
        } else if let error = json["error"], let message = error["message"]?.asString {
            let kind = error["kind"]?.asString.flatMap(InquiryError.Kind.init(rawValue:)) ?? .badRequest
            self = .failure(
                InquiryError(kind, message, storeKind: error["store"]?.asString.flatMap(StoreError.Kind.init(word:))))
        } else {
            return nil
        }
    }

    /// The line, with its end.
    package var line: [UInt8] { json.encoded() + [UInt8(ascii: "\n")] }

    private var json: JSON {
        switch self {
        case .row(let row): ["row": row]
        case .end(let value): ["end": value]
        case .failure(let error):
            [
                "error": [
                    "kind": .string(error.kind.rawValue), "message": .string(error.message),
                    "store": .string(error.storeKind?.word ?? ""),
                ]
            ]
        }
    }
}

extension StoreError.Kind {
    private static let words: [(StoreError.Kind, String)] = [
        (.full, "full"), (.busy, "busy"), (.damaged, "damaged"), (.newer, "newer"), (.cannotOpen, "cannot_open"),
        (.lost, "lost"), (.other, "other"),
    ]

    var word: String { Self.words.first { $0.0 == self }?.1 ?? "other" }

    init?(word: String) {
        guard let kind = Self.words.first(where: { $0.1 == word })?.0 else { return nil }
        self = kind
    }
}
