import ArgumentParser
import BellhopAgent
import BellhopCore

/// The option for changing shared entries of the keychain.
struct KeychainOptions: ParsableArguments {
    @Flag(help: "For all projects of this user that have no entry of that name.")
    var shared = false
}

extension ConfigOptions {
    /// The keychain with the entries of bellhop.yaml's project; without a file or a project id, only the shared entries.
    func projectKeychain() throws(CommandError) -> Keychain {
        try Files.exist(config) ? keychain.of(project()) : keychain
    }

    /// The project that bellhop.yaml names: it has its own section in the keychain. Nil if bellhop.yaml names no project.
    private func project() throws(CommandError) -> Keychain.Project? {
        try rethrowing(as: CommandError.init) { () throws(ConfigurationError) in
            try loader.project(of: config)
        }
    }

    /// The keychain for storing an entry. Adds a project id to a bellhop.yaml that has none.
    func keychain(toStore options: KeychainOptions) throws(CommandError) -> Keychain {
        if options.shared { return keychain }
        guard Files.exist(config) else {
            throw CommandError(
                .badConfiguration,
                "There is no \(config) here, and the keychain stores logins and secrets per project: go to the project's folder, "
                    + "name its file with --config, or use --shared to store this for all your projects.")
        }
        if let project = try project() { return keychain.of(project) }
        let id = ProjectLine.makeID()
        let isAdded = try rethrowing(as: CommandError.init) { () throws(SecretError) in
            try ProjectLine.add(id, to: config, for: keychain)
        }
        if isAdded {
            Console.sentence(
                "Wrote `\(ProjectLine.key): \(id)` into \(config): "
                    + "the keychain stores this project's logins and secrets under this name.")
        }
        return keychain.of(try project())
    }

    /// Tells this project's agent what changed in the keychain; for shared entries, the agents of all projects.
    func informAgent(_ change: KeychainChange, _ options: KeychainOptions) throws(CommandError) {
        var own: String?
        if Files.exist(config) {
            own = try project()?.id
            Self.send(change, in: KeychainPlace(keychain, project: options.shared ? nil : own), to: try storeLink())
        }
        guard options.shared else { return }
        let projects = try rethrowing(as: CommandError.init) { () throws(SecretError) in try keychain.projects() }
        for other in projects where other.id != own { informAgent(ofProject: other, change) }
        Console.sentence(
            "An agent whose bellhop.yaml has no line `\(ProjectLine.key)`, or whose folder was moved, uses it after its next restart."
        )
    }

    /// Tells this project's agent that the login in bellhop.yaml was tried: it tries a login again that was refused.
    func informAgent(ofTriedLogin connection: String) throws(CommandError) {
        Self.send(.login(connection), in: .none, to: try storeLink())
    }

    /// Tells the agent of another project, if it runs, what changed in the shared entries.
    private func informAgent(ofProject other: Keychain.Project, _ change: KeychainChange) {
        let link: StoreLink
        do throws(CommandError) {
            link = try storeLink(of: other.file)
        } catch {
            return Console.sentence(
                "An agent of \(other.file.visible) uses it once it is restarted: its store cannot be found from here.")
        }
        Self.send(change, in: KeychainPlace(keychain, project: nil), to: link, of: other.file)
    }

    /// Tells the agent of a project, and prints the outcome. Prints nothing if no agent runs.
    /// - Parameter other: the project's bellhop.yaml, if it is not the command's own; the agent may then not use the entry.
    private static func send(
        _ change: KeychainChange, in place: KeychainPlace, to link: StoreLink, of other: String? = nil
    ) {
        let agent = "The running agent" + (other.map { " of \($0.visible)" } ?? "")
        let answer: JSON?
        do throws(InquiryError) {
            answer = try ControlClient(link.socket).ask(.keychainChanged(change, in: place))
        } catch {
            return Console.sentence("\(agent) could not be reached, so it must be restarted to use this: \(error.message)")
        }
        if let read = answer?["keychain"]?.asString {
            return Console.sentence(
                "\(agent) reads another keychain, \(read.visible), so this changes nothing for it: "
                    + "run the command again as the agent's user, with `BELLHOP_KEYCHAIN=\(read.visible)`.")
        }
        guard let outcomes = answer?.asArray else { return }
        if outcomes.isEmpty {
            if other == nil { Console.sentence(unused(change)) }
            return
        }
        for outcome in outcomes {
            let source = outcome["source"]?.asString
            let name = source.map { "source `\($0)`" } ?? "connection `\(outcome["connection"].textOrEmpty)`"
            let reason = outcome["reason"].textOrEmpty
            switch outcome["outcome"]?.asString {
            case "in_use": Console.sentence("\(agent) uses it from now on (\(name)).")
            case "needs_restart": Console.sentence("\(agent) must be restarted to use it: \(reason.visible).")
            case _ where source != nil: Console.sentence(reason.visible)
            default: Console.sentence("\(agent) now rests \(name). \(reason.visible)")
            }
        }
    }

    private static func unused(_ change: KeychainChange) -> String {
        switch change {
        case .secret(let name): "Nothing in the bellhop.yaml of the running agent asks for `${{ secret.\(name) }}`."
        case .login(let name): "The running agent has no connection `\(name)`: it must be restarted to use it."
        }
    }
}
