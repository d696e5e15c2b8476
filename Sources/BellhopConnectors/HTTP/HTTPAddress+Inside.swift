extension HTTPAddress {
    /// Whether another address has the same scheme, host and port, so that the same credentials may be sent.
    func hasOrigin(of other: HTTPAddress) -> Bool {
        isSecure == other.isSecure && host == other.host && port == other.port
    }

    /// The address of a page or resource below this one: from a relative path, or a whole address of the same origin.
    ///
    /// Nothing else, because credentials are sent along.
    func inside(_ text: String) throws(Problem) -> HTTPAddress {
        let text = ASCII.trimmed(text)
        if Self.hasScheme(text) {
            guard text.contains("://") else { throw Problem(message: "This is neither a path nor an http or https address.") }
            let whole = try HTTPAddress(text)
            guard whole.userInfo == nil else { throw Problem(message: "An address here must not name a user.") }
            guard whole.hasOrigin(of: self) else {
                throw Problem(message: "\(whole.place) is another host than the connection's (\(place)).")
            }
            try InnerPath.refuseDots(in: whole.path)
            return whole
        }
        guard !text.hasPrefix("//"), !text.hasPrefix("\\") else {
            throw Problem(message: "This is neither a path nor an http or https address.")
        }
        let base = path.last == "/" ? path.dropLast() : path
        let isQuery = text.first == "?"
        let tail = text.isEmpty || isQuery || text.first == "/" ? String(text) : "/" + text
        let address = try HTTPAddress(origin + base + tail)
        try InnerPath.refuseDots(in: address.path)
        return address
    }
}
