extension HTTPAddress {
    /// Whether another address leads to the same scheme, host and port, where the same credentials may go.
    func hasOrigin(of other: HTTPAddress) -> Bool {
        isSecure == other.isSecure && host == other.host && port == other.port
    }

    /// The address of a page or resource below this one: a path relative to it, or a whole address of the same origin.
    ///
    /// Nothing else: whoever asks sends credentials along.
    func inside(_ text: String) throws(Problem) -> HTTPAddress {
        let text = ASCII.trimmed(text)
        if text.contains("://"), text.prefix(while: { $0 != ":" }).utf8.allSatisfy(ASCII.isLetter) {
            let whole = try HTTPAddress(text)
            guard whole.userInfo == nil else { throw Problem(message: "An address here names no user.") }
            guard whole.hasOrigin(of: self) else {
                throw Problem(message: "\(whole.place) is another host than the connection's (\(place)).")
            }
            try whole.refuseDots()
            return whole
        }
        guard !text.hasPrefix("//"), !text.hasPrefix("\\"), !Self.hasScheme(text) else {
            throw Problem(message: "This is neither a path nor an http or https address.")
        }
        let base = path.last == "/" ? path.dropLast() : path
        let isQuery = text.first == "?"
        let tail = text.isEmpty || isQuery || text.first == "/" ? String(text) : "/" + text
        let address = try HTTPAddress(origin + base + tail)
        try address.refuseDots()
        return address
    }

    /// `..` leads out of where a connection was said to lead.
    private func refuseDots() throws(Problem) {
        let segments = path.split(separator: "/").map { PercentEncoding.decode($0) }
        guard !segments.contains(where: { $0 == ".." || $0 == "." || $0.hasPrefix("../") || $0.hasSuffix("/..") }) else {
            throw Problem(message: "A path has no `.` and `..` as parts.")
        }
    }

    /// `mailto:x`, `javascript:…`: a scheme before any slash.
    private static func hasScheme(_ text: Substring) -> Bool {
        guard let colon = text.firstIndex(of: ":") else { return false }
        let name = text[..<colon]
        return !name.isEmpty && name.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "+.-".utf8.contains($0) }
            && ASCII.isLetter(name.utf8.first ?? 0)
    }
}
