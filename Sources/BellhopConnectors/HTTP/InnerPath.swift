import BellhopCore

/// A path below some address, as settings and rules write it: it leads nowhere else, whatever was inserted into it.
enum InnerPath {
    /// The path that a value says: a text as it is written, or a list of parts, of which each is one step whatever characters it has.
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

    /// `.` and `..` lead out of where a connection was said to lead, also where they are encoded (once or more often), stand between
    /// backslashes, or have parameters (`..;x`), for some servers read all of these.
    static func refuseDots(in path: some StringProtocol) throws(HTTPAddress.Problem) {
        var text = String(path)
        for _ in 0..<4 {
            let steps = text.utf8.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
            let leadsOut = steps.contains { step in
                let name = step.prefix { $0 != UInt8(ascii: ";") }
                return name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8)
            }
            if leadsOut { throw HTTPAddress.Problem(message: "A path has no `.` and `..` as parts.") }
            let decoded = PercentEncoding.decode(text)
            if decoded == text { return }
            text = decoded
        }
        throw HTTPAddress.Problem(message: "This path is encoded again and again, so that nobody can tell where it leads.")
    }
}
