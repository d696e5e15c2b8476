import BellhopCore

/// The configured address of an item's page: `https://shop.example.com/orders/{id}`. The values for the braces come from an answer;
/// they are percent-encoded, and none is in the host, so an answer cannot change the host.
public struct ItemPage: Sendable, Hashable {
    private enum Part: Sendable, Hashable {
        case text(String)
        case id
        case path(JSON.Path)
    }

    private var parts: [Part] = []

    /// Why a text is not the address of a page.
    public struct Problem: Error, Sendable, Hashable {
        public var message: String
    }

    public init(_ text: String) throws(Problem) {
        guard let scheme = text.firstRange(of: "://"), ["http", "https"].contains(ASCII.lowercased(text[..<scheme.lowerBound]))
        else { throw Problem(message: "An item's page needs an absolute https:// (or http://) address.") }
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{") {
            let before = rest[..<open]
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw Problem(message: "A `{` in the address of an item's page has no `}`.")
            }
            parts.append(.text(String(before)))
            let name = String(rest[rest.index(after: open)..<close])
            if name == "id" {
                parts.append(.id)
            } else if let path = JSON.Path(text: name), !path.steps.isEmpty {
                parts.append(.path(path))
            } else {
                throw Problem(message: "`{\(name)}` in the address of an item's page is not a path: write {id} or {a.b}.")
            }
            rest = rest[rest.index(after: close)...]
        }
        parts.append(.text(String(rest)))
        guard case .text(let first)? = parts.first, let slash = first[scheme.upperBound...].firstIndex(of: "/"),
            slash > scheme.upperBound
        else { throw Problem(message: "The host of an item's page must be written out: https://HOST/…{id}…") }
    }

    func address(of key: TaskKey, _ record: JSON) -> String {
        parts.map { part in
            switch part {
            case .text(let text): text
            case .id: PercentEncoding.encode(key.text)
            case .path(let path): PercentEncoding.encode(ItemValue.text(record[path]))
            }
        }.joined()
    }
}
