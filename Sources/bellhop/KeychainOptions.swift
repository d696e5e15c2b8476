import ArgumentParser
import BellhopAgent
import BellhopCore

/// Which entries of the keychain a command changes.
struct KeychainOptions: ParsableArguments {
    @Flag(help: "For all projects of this user that have no entry of that name.")
    var shared = false
}

extension ConfigOptions {
    /// The keychain as the project of bellhop.yaml sees it; without a file or an id, only the shared entries.
    func projectKeychain() throws(CommandError) -> Keychain {
        guard Files.exist(config) else { return keychain }
        return keychain.of(try storeLink().project)
    }

    /// The keychain for storing something. A bellhop.yaml without an id gets one.
    func keychain(toStore options: KeychainOptions) throws(CommandError) -> Keychain {
        if options.shared { return keychain }
        guard Files.exist(config) else {
            throw CommandError(
                .badConfiguration,
                "There is no \(config) here, and the keychain keeps things by project: go to its folder, name it with --config, "
                    + "or say --shared to store this for all your projects.")
        }
        if let project = try storeLink().project { return keychain.of(project) }
        let id = ProjectLine.makeID()
        do throws(SecretError) {
            try ProjectLine.add(id, to: config)
        } catch {
            throw CommandError(error)
        }
        Console.sentence(
            "Wrote `\(ProjectLine.key): \(id)` into \(config): "
                + "the keychain stores this project's logins and secrets under this name.")
        return keychain.of(try storeLink().project)
    }

    /// Informs the agent of this project of what changed in the keychain; for shared entries, the agents of all projects.
    func informAgent(_ change: KeychainChange, _ options: KeychainOptions) throws(CommandError) {
        var own: String?
        if Files.exist(config) {
            let link = try storeLink()
            own = link.project?.id
            KeychainNotice.send(change, project: options.shared ? nil : own, to: link)
        }
        guard options.shared else { return }
        let others = try SecretCommand.keychain { () throws(SecretError) in try keychain.projects() }.filter { $0.id != own }
        for other in others { informAgent(ofProject: other, change) }
        Console.sentence(
            "An agent whose bellhop.yaml has no line `\(ProjectLine.key)`, or whose folder was moved, uses it after its next restart."
        )
    }

    /// Informs the running agent of another project, if any, of a change in the shared entries.
    private func informAgent(ofProject other: Keychain.Project, _ change: KeychainChange) {
        let link: StoreLink
        do throws(CommandError) {
            link = try storeLink(of: other.file)
        } catch {
            return Console.sentence(
                "An agent of \(other.file.visible) uses it once it is restarted: its store cannot be found from here.")
        }
        KeychainNotice.send(change, project: nil, to: link, of: other.file)
    }
}
