extension HTTPAddress {
    /// Resolves a reference, such as a `Location` or a link (RFC 3986, section 5.2); nil if the result is not an http address.
    public func resolving(_ reference: some StringProtocol) -> HTTPAddress? {
        let text = ASCII.trimmed(reference).prefix { $0 != "#" }
        if Self.hasScheme(text) { return (try? HTTPAddress(text))?.withoutDots }
        if text.hasPrefix("//") { return (try? HTTPAddress((isSecure ? "https:" : "http:") + text))?.withoutDots }
        switch text.utf8.first {
        case nil: return try? HTTPAddress(origin + target)
        case UInt8(ascii: "?"): return try? HTTPAddress(origin + path + text)
        case UInt8(ascii: "/"): return (try? HTTPAddress(origin + text))?.withoutDots
        default:
            let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
            return (try? HTTPAddress(origin + folder + text))?.withoutDots
        }
    }

    /// Whether a text begins with a scheme (`https:`, `mailto:`), not just has a colon later.
    static func hasScheme(_ text: Substring) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let name = text.utf8[..<colon]
        return name.first.map(ASCII.isLetter) == true
            && name.allSatisfy { ASCII.isAlphanumeric($0) || "+.-".utf8.contains($0) }
    }

    /// The address with the `.` and `..` segments of its path removed (section 5.2.4).
    private var withoutDots: HTTPAddress {
        let query = target[path.endIndex...]
        var steps: [Substring] = []
        let all = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (place, step) in all.enumerated() {
            switch step {
            case ".", "..":
                if step == "..", !steps.isEmpty { steps.removeLast() }
                // At the end, it leads to a folder.
                if place == all.count - 1 { steps.append("") }
            default: steps.append(step)
            }
        }
        return with(target: "/" + steps.joined(separator: "/") + query)
    }
}
