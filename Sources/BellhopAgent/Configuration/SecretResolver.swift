import BellhopCore

/// Looks up the names that bellhop.yaml asks for, each once, in the order of its secret stores.
struct SecretResolver: Sendable {
    var environment: [String: String]
    var stores: [SecretStore]
    var keychain: Keychain
    /// How long a command may take.
    var timeout: Duration

    /// The result. A name that no store has is in neither dictionary.
    struct Found: Sendable {
        var values: [Interpolation.Reference: String] = [:]
        /// Why a store failed to give a secret; only for secrets that no other store gave.
        var refusals: [Interpolation.Reference: SecretStore.Refusal] = [:]
        /// The stores that refused each of these secrets.
        fileprivate var refusing: [Interpolation.Reference: Set<SecretStore>] = [:]
    }

    func resolve(_ references: Set<Interpolation.Reference>) async throws(SecretError) -> Found {
        var found = Found()
        var working: Set<SecretStore> = []
        for reference in references {
            switch reference.space {
            case .env: found.values[reference] = environment[reference.name]
            case .secret: if let store = try await look(for: reference, &found) { working.insert(store) }
            }
        }
        // A command that has printed another secret works. If it refuses a name a second time, the name is wrong.
        for reference in Array(found.refusals.keys) where working.isSuperset(of: found.refusing[reference] ?? []) {
            found.refusals[reference] = nil
            _ = try await look(for: reference, &found)
            found.refusals[reference]?.isWrongName = true
        }
        return found
    }

    /// Returns the store that gave the secret; nil if none did.
    private func look(
        for reference: Interpolation.Reference, _ found: inout Found
    ) async throws(SecretError) -> SecretStore? {
        var refusal: SecretStore.Refusal?
        for store in stores {
            switch try await store.secret(reference.name, keychain: keychain, timeout: timeout) {
            case .value(let value):
                found.values[reference] = value
                return store
            case .absent: continue
            case .refused(let reason):
                refusal = refusal ?? reason
                found.refusing[reference, default: []].insert(store)
            }
        }
        found.refusals[reference] = refusal
        return nil
    }

    /// Advice for messages: how to add a missing name.
    func help(for reference: Interpolation.Reference) -> String {
        switch reference.space {
        case .env: "set the environment variable \(reference.name)"
        case .secret: "run `bellhop secret set \(reference.name)`, or put it where `secrets:` looks"
        }
    }
}
