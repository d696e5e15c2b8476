import BellhopCore

extension RESTSource: SampledSource {
    /// The first request of a poll, without possible secrets and with only the structure of its body.
    var question: [(name: String, text: String)] {
        let request = request(Pager(paging).first, adding: [])
        var parts = [("request", "\(request.method) \(shown(request.address))")]
        if let body { parts.append(("body", Redaction.scrub(body, of: hidden))) }
        if let paging { parts.append(("paging", paging.words)) }
        if let since { parts.append(("since", since.words)) }
        return parts
    }

    /// The requested address. Hides the values of parameters whose names suggest secrets.
    private func shown(_ address: HTTPAddress) -> String {
        let query = address.target.drop { $0 != "?" }.dropFirst()
        let pairs = query.split(separator: "&").map { pair in
            let name = pair.prefix { $0 != "=" }
            let isSecret = Redaction.suggestsSecret(PercentEncoding.decode(name)) && name.endIndex < pair.endIndex
            return isSecret ? "\(name)=\(Redaction.mark)" : String(pair)
        }
        let text = address.origin + address.path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
        return Redaction.scrub(text, of: hidden)
    }

    /// The structure of the body; nil if there is none.
    private var body: String? {
        guard let bytes = request(Pager(paging).first, adding: []).body, !bytes.isEmpty else { return nil }
        if json != nil, let json = try? JSON.parse(bytes) { return "JSON \(Self.shape(of: json))" }
        let type = arguments.headers["Content-Type"].map { " of \($0.prefix { $0 != ";" })" } ?? ""
        return "\(bytes.count) bytes\(type)"
    }

    /// The names in a body, with types in place of values.
    private static func shape(of json: JSON) -> String {
        switch json {
        case .null: "null"
        case .bool: "true or false"
        case .int, .double: "number"
        case .string: "text"
        case .array(let items): "[\(items.first.map(shape) ?? "")]"
        case .object(let members): "{\(members.map { "\($0): \(shape(of: $1))" }.joined(separator: ", "))}"
        }
    }
}

extension Paging {
    /// Describes the paging for people.
    fileprivate var words: String {
        let place = inBody ? "in the body" : "in the query"
        return switch way {
        case .link: "by link, from \(next.map { "`\($0)`" } ?? "the field Link")"
        case .page: "by page: `\(parameter)` \(place), from \(start)"
        case .offset: "by offset: `\(parameter)` \(place)"
        case .cursor: "by cursor: `\(parameter)` \(place)\(next.map { ", from `\($0)`" } ?? "")"
        }
    }
}

extension Since {
    /// Describes what later polls add, for people.
    fileprivate var words: String {
        "later polls add `\(parameter)`: the latest `\(field)` less \(DurationText.format(overlap)), as \(format.rawValue); "
            + "everything again after \(DurationText.format(reconcile))"
    }
}
