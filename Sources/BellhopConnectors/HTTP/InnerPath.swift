import BellhopCore

/// A path below a base address, as settings and rules write it: inserted values cannot make it leave the base.
enum InnerPath {
    /// The path of a value: text is used as written; each element of a list becomes one segment, whatever its characters.
    static func text(_ value: JSON?) throws(HTTPAddress.Problem) -> String {
        let text: String
        if let parts = value?.asArray {
            let words = parts.map(RequestArguments.words)
            guard words.allSatisfy({ !$0.isEmpty }) else {
                throw HTTPAddress.Problem(message: "A part of the path is empty.")
            }
            text = words.map { PercentEncoding.encode($0) }.joined(separator: "/")
        } else {
            text = value.map(RequestArguments.words) ?? ""
        }
        try refuseDots(in: text.prefix { $0 != "?" && $0 != "#" })
        return text
    }

    /// `.` and `..` could leave the base, also when encoded (once or more), between backslashes, or with parameters (`..;x`),
    /// because some servers accept all of these.
    static func refuseDots(in path: some StringProtocol) throws(HTTPAddress.Problem) {
        var text = String(path)
        for _ in 0..<4 {
            let steps = text.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
            let leadsOut = steps.contains { step in
                let name = step.prefix { $0 != UInt8(ascii: ";") }
                return name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8)
            }
            if leadsOut { throw HTTPAddress.Problem(message: "A path must not contain `.` or `..` as a part.") }
            let decoded = PercentEncoding.decode(text)
            if decoded == text { return }
            text = decoded
        }
        throw HTTPAddress.Problem(message: "This path is percent-encoded too many times to tell where it leads.")
    }
}
