import BellhopCore

/// What a resource server wants of whoever asks: a `WWW-Authenticate` of the scheme Bearer (RFC 6750), as Mobile Foundation's adapters and
/// those resources outside send that it protects.
enum BearerChallenge: Sendable, Hashable {
    /// A token, of whatever scope; also where the one that was sent is not even mentioned.
    case token
    /// Another token: this one has expired or was revoked.
    case invalidToken
    /// A token for these scopes.
    case scopes(Set<String>)

    /// Nil for an answer without such a challenge.
    init?(_ response: HTTPResponse) {
        guard response.status == 401 || response.status == 403,
            let parameters = response.headers.all("WWW-Authenticate").lazy.compactMap(Self.parameters).first
        else { return nil }
        switch (response.status, parameters["error"]) {
        case (403, "insufficient_scope"?):
            let scopes = Set((parameters["scope"] ?? "").split(separator: " ").map(String.init))
            guard !scopes.isEmpty else { return nil }
            self = .scopes(scopes)
        case (403, _): return nil
        case (_, "invalid_token"?): self = .invalidToken
        default: self = .token
        }
    }

    /// What follows `Bearer` in a field that may hold challenges of other schemes as well; nil without that word.
    private static func parameters(_ field: String) -> [String: String]? {
        guard let start = schemeEnd(field) else { return nil }
        var parameters: [String: String] = [:]
        var rest = field[start...]
        while true {
            rest = rest.drop { $0 == " " || $0 == "," || $0 == "\t" }
            let name = rest.prefix { $0 != "=" && $0 != " " && $0 != "," }
            rest = rest.dropFirst(name.count)
            // A word without a value begins the next scheme.
            guard !name.isEmpty, rest.first == "=" else { return parameters }
            rest = rest.dropFirst()
            var value = ""
            if rest.first == "\"" {
                rest = rest.dropFirst()
                while let next = rest.popFirst(), next != "\"" {
                    if next == "\\", let escaped = rest.popFirst() { value.append(escaped) } else { value.append(next) }
                }
            } else {
                value = String(rest.prefix { $0 != "," && $0 != " " })
                rest = rest.dropFirst(value.count)
            }
            parameters[ASCII.lowercased(name)] = value
        }
    }

    private static func schemeEnd(_ field: String) -> String.Index? {
        let word = "bearer"
        let lower = ASCII.lowercased(field)
        for range in lower.ranges(of: word) {
            let isStart = range.lowerBound == lower.startIndex || " ,\t".contains(lower[lower.index(before: range.lowerBound)])
            let isEnd = range.upperBound == lower.endIndex || " ,\t".contains(lower[range.upperBound])
            let offset = lower.utf8.distance(from: lower.startIndex, to: range.upperBound)
            // The letters A to Z alone were changed, so the places are the same.
            if isStart, isEnd { return field.utf8.index(field.startIndex, offsetBy: offset) }
        }
        return nil
    }
}
