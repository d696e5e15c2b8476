import BellhopCore

/// Looks up the names that bellhop.yaml asks for, each once, in the order of its secret stores.
struct SecretResolver: Sendable {
    var environment: [String: String]
    var stores: [SecretStore]
    var keychain: Keychain

    /// The values there are. Names that nobody knows are missing from the result.
    func resolve(_ references: Set<Interpolation.Reference>) async throws(SecretError) -> [Interpolation.Reference: String] {
        var values: [Interpolation.Reference: String] = [:]
        for reference in references {
            switch reference.space {
            case .env: values[reference] = environment[reference.name]
            case .secret:
                for store in stores {
                    guard let value = try await store.secret(reference.name, keychain: keychain) else { continue }
                    values[reference] = value
                    break
                }
            }
        }
        return values
    }

    /// What to do when a name is missing.
    func help(for reference: Interpolation.Reference) -> String {
        switch reference.space {
        case .env: "set the environment variable \(reference.name)"
        case .secret: "run `bellhop secret set \(reference.name)`, or put it where `secrets:` looks"
        }
    }
}
