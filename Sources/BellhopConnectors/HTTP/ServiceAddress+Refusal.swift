import BellhopCore

extension ConnectionManifest {
    /// Why a valid address cannot be the `url` of a connection of this kind: it belongs to another kind, or it is incomplete. Nil
    /// for all other addresses, and for a kind without known addresses.
    func refusal(of address: HTTPAddress, _ settings: Settings) -> String? {
        if addresses.isEmpty { return nil }
        if let own = addresses.first(where: { $0.covers(address) }) { return own.refusal ?? own.missingCompanion(in: settings) }
        let kinds = Catalogue.connections.filter { $0.kind != kind }
        for other in kinds {
            if let found = other.addresses.first(where: { $0.covers(address) }) {
                return found.refusal ?? found.advice(of: other.kind)
            }
        }
        if let own = addresses.first(where: { $0.hasHost(address.host) && !$0.isCompatibleService }) {
            return "The address of \(own.what) looks like \(own.example)."
        }
        for other in kinds {
            if let found = other.addresses.first(where: { $0.hasHost(address.host) && !$0.isCompatibleService }) {
                return found.advice(of: other.kind)
            }
        }
        return nil
    }
}

extension ServiceAddress {
    /// Whether an address matches completely.
    func covers(_ address: HTTPAddress) -> Bool {
        guard hasHost(address.host) else { return false }
        let names = address.target.dropFirst(address.path.count + 1).split(separator: "&").compactMap {
            $0.split(separator: "=", maxSplits: 1).count == 2 ? $0.prefix { $0 != "=" } : nil
        }
        return Self.matches(path.split(separator: "/")[...], address.path.split(separator: "/")[...])
            && query.allSatisfy { names.contains($0[...]) }
    }

    func hasHost(_ host: String) -> Bool {
        hosts.contains { pattern in
            pattern.hasPrefix("*") ? host.hasSuffix(pattern.dropFirst()) : pattern == host
        }
    }

    fileprivate func advice(of kind: String) -> String { "This is \(what): write `kind: \(kind)`." }

    fileprivate func missingCompanion(in settings: Settings) -> String? {
        for (name, isNeeded) in companions.sorted(by: { $0.key < $1.key }) where (settings.values[name] != nil) != isNeeded {
            return isNeeded ? "This is \(what), which needs a `\(name)`." : "This is \(what), which takes no `\(name)`."
        }
        return nil
    }

    private static func matches(_ pattern: ArraySlice<Substring>, _ path: ArraySlice<Substring>) -> Bool {
        guard let step = pattern.first else { return path.isEmpty }
        guard let part = path.first else { return false }
        if step == "**" { return true }
        return (step == "*" || step == part) && matches(pattern.dropFirst(), path.dropFirst())
    }
}
