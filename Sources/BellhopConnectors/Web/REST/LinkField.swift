/// The header field `Link` (RFC 8288): the part that paging needs.
enum LinkField {
    /// The target of the first link with this relation; nil if there is none.
    static func target(of relation: String, in headers: HeaderFields) -> String? {
        for value in headers.all("Link") {
            for link in links(value) where link.relations.contains(where: { ASCII.equalIgnoringCase($0, relation) }) {
                return link.target
            }
        }
        return nil
    }

    /// The links of one field: `<target>; rel="a b"; title="x, y", <…>`.
    private static func links(_ value: String) -> [(target: String, relations: [String])] {
        var links: [(target: String, relations: [String])] = []
        var rest = Substring(value)
        while let open = rest.firstIndex(of: "<"), let close = rest[open...].firstIndex(of: ">") {
            let target = String(ASCII.trimmed(rest[rest.index(after: open)..<close]))
            rest = rest[rest.index(after: close)...]
            var relations: [String]?
            while let (name, value) = parameter(&rest) {
                // Of duplicate `rel` parameters the first counts.
                if ASCII.equalIgnoringCase(name, "rel"), relations == nil {
                    relations = value.split(separator: " ").map(String.init)
                }
            }
            links.append((target, relations ?? []))
        }
        return links
    }

    /// Reads `; name=value`; nil at the end of a link.
    private static func parameter(_ rest: inout Substring) -> (name: String, value: String)? {
        rest = ASCII.trimmed(rest)
        guard rest.first == ";" else { return nil }
        rest = ASCII.trimmed(rest.dropFirst())
        let name = rest.prefix { !"=;,".contains($0) }
        rest = rest[name.endIndex...]
        guard rest.first == "=" else { return (String(ASCII.trimmed(name)), "") }
        rest = ASCII.trimmed(rest.dropFirst())
        var value = ""
        if rest.first == "\"" {
            rest = rest.dropFirst()
            while let character = rest.popFirst(), character != "\"" {
                if character == "\\", let next = rest.popFirst() { value.append(next) } else { value.append(character) }
            }
        } else {
            let token = rest.prefix { !";,".contains($0) }
            value = String(ASCII.trimmed(token))
            rest = rest[token.endIndex...]
        }
        return (String(ASCII.trimmed(name)), value)
    }
}
