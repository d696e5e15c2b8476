import ArgumentParser
import BellhopAgent
import BellhopCore

/// Which entries of the keychain a command changes.
struct KeychainOptions: ParsableArguments {
    @Flag(help: "Of all projects of this user: what a project has none of its own for.")
    var shared = false
}

extension ConfigOptions {
    /// The keychain as the project of bellhop.yaml sees it; without one, or where it has no id yet, only what is shared.
    func projectKeychain() throws(Trouble) -> Keychain {
        guard Files.exist(config) else { return keychain }
        return keychain.of(try place().project)
    }

    /// The keychain to store something in. A bellhop.yaml without an id gets one.
    func keychain(toStore options: KeychainOptions) throws(Trouble) -> Keychain {
        if options.shared { return keychain }
        guard Files.exist(config) else {
            throw Trouble(
                .badConfiguration,
                "There is no \(config) here, and the keychain keeps things by project: go to its folder, name it with --config, "
                    + "or say --shared to store this for all your projects.")
        }
        if let project = try place().project { return keychain.of(project) }
        let id = ProjectLine.makeID()
        do throws(SecretError) {
            try ProjectLine.add(id, to: config)
        } catch {
            throw Trouble(error)
        }
        Console.sentence(
            "Wrote `\(ProjectLine.key): \(id)` into \(config): the keychain keeps this project's logins and secrets by it.")
        return keychain.of(try place().project)
    }

    /// Tells the agent of this project what changed in the keychain.
    func tellAgent(_ change: KeychainChange, _ options: KeychainOptions) throws(Trouble) {
        if Files.exist(config) {
            let project = try place().project?.id
            KeychainNotice.send(change, project: options.shared ? nil : project, to: try storeLink())
        }
        if options.shared { Console.sentence("Agents of other projects use it once they are restarted.") }
    }

    private func place() throws(Trouble) -> StorePlace {
        do throws(ConfigurationError) {
            return try ConfigurationLoader(environment: environment, keychain: keychain).storePlace(config)
        } catch {
            throw Trouble(error)
        }
    }
}
