extension HTTPAddress {
    /// What a reference, such as a `Location` or a link, leads to from here (RFC 3986, section 5.2); nil when that cannot be asked.
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

    /// Whether a text begins with a scheme (`https:`, `mailto:`), rather than has a colon somewhere later.
    static func hasScheme(_ text: Substring) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let name = text.utf8[..<colon]
        return name.first.map(ASCII.isLetter) == true
            && name.allSatisfy { ASCII.isAlphanumeric($0) || "+.-".utf8.contains($0) }
    }

    /// The address with the steps `.` and `..` of its path taken (section 5.2.4).
    private var withoutDots: HTTPAddress {
        let query = target[path.endIndex...]
        var steps: [Substring] = []
        let all = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (place, step) in all.enumerated() {
            switch step {
            case ".", "..":
                if step == "..", !steps.isEmpty { steps.removeLast() }
                // One at the end leads to a folder.
                if place == all.count - 1 { steps.append("") }
            default: steps.append(step)
            }
        }
        return with(target: "/" + steps.joined(separator: "/") + query)
    }
}
