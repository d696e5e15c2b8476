import BellhopCore

/// The challenge of a resource server: a `WWW-Authenticate` of the scheme Bearer (RFC 6750), as sent by Mobile Foundation's
/// adapters and the external resources that it protects.
enum BearerChallenge: Sendable, Hashable {
    /// It demands a token of any scope, or does not say what is wrong with the one sent.
    case token
    /// It demands a new token, because the one sent has expired or was revoked.
    case invalidToken
    /// It demands a token for these scopes.
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

    /// The parameters of the scheme Bearer in a field that may hold other schemes, too; nil without that scheme.
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

    /// Where the parameters of the scheme begin. A `Bearer` in quotes does not count.
    private static func schemeEnd(_ field: String) -> String.Index? {
        var isQuoted = false
        var start = field.startIndex
        var place = field.startIndex
        while place < field.endIndex {
            let character = field[place]
            let next = field.index(after: place)
            if character == "\\", isQuoted, next < field.endIndex {
                place = field.index(after: next)
                continue
            }
            if character == "\"" { isQuoted.toggle() }
            if !isQuoted, " ,\t".contains(character) || next == field.endIndex {
                let end = " ,\t".contains(character) ? place : next
                if ASCII.lowercased(String(field[start..<end])) == "bearer" { return end }
                start = next
            }
            place = next
        }
        return nil
    }
}
