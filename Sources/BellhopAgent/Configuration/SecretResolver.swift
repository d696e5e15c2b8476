import BellhopCore

/// Looks up the names that bellhop.yaml asks for, each once, in the order of its secret stores.
struct SecretResolver: Sendable {
    var environment: [String: String]
    var stores: [SecretStore]
    var keychain: Keychain
    /// How long a command may take.
    var patience: Duration

    /// The values found. A missing name is in neither.
    struct Found: Sendable {
        var values: [Interpolation.Reference: String] = [:]
        /// Why a store failed to give a secret; only for secrets that no other store gave.
        var refusals: [Interpolation.Reference: SecretStore.Refusal] = [:]
    }

    func resolve(_ references: Set<Interpolation.Reference>) async throws(SecretError) -> Found {
        var found = Found()
        for reference in references {
            switch reference.space {
            case .env: found.values[reference] = environment[reference.name]
            case .secret: try await look(for: reference, &found)
            }
        }
        return found
    }

    private func look(for reference: Interpolation.Reference, _ found: inout Found) async throws(SecretError) {
        var refusal: SecretStore.Refusal?
        for store in stores {
            switch try await store.secret(reference.name, keychain: keychain, patience: patience) {
            case .value(let value):
                found.values[reference] = value
                return
            case .absent: continue
            case .refused(let reason): refusal = refusal ?? reason
            }
        }
        found.refusals[reference] = refusal
    }

    /// How messages suggest to add a missing name.
    func help(for reference: Interpolation.Reference) -> String {
        switch reference.space {
        case .env: "set the environment variable \(reference.name)"
        case .secret: "run `bellhop secret set \(reference.name)`, or put it where `secrets:` looks"
        }
    }
}
