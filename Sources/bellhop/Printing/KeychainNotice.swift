import BellhopAgent
import BellhopCore

/// Tells a running agent about a change in the keychain: it takes effect at once, or the command says that a restart is needed.
enum KeychainNotice {
    /// Tells the agent of a project, and prints the outcome. Prints nothing if no agent runs.
    /// - Parameter other: the project's bellhop.yaml, if it is not the command's own; the agent may then not use the entry.
    static func send(_ change: KeychainChange, project: String?, to link: StoreLink, of other: String? = nil) {
        let agent = "The running agent" + (other.map { " of \($0.visible)" } ?? "")
        let answer: JSON?
        do throws(InquiryError) {
            answer = try ControlClient(link.socket).ask(.keychainChanged(change, project: project))
        } catch {
            return Console.sentence("\(agent) could not be reached, so it must be restarted to use this: \(error.message)")
        }
        guard let outcomes = answer?.asArray else { return }
        if outcomes.isEmpty {
            if other == nil { Console.sentence(unused(change)) }
            return
        }
        for outcome in outcomes {
            let source = outcome["source"]?.asString
            let name = source.map { "source `\($0)`" } ?? "connection `\(outcome["connection"]?.asString ?? "")`"
            let why = outcome["why"]?.asString ?? ""
            switch outcome["outcome"]?.asString {
            case "in_use": Console.sentence("\(agent) uses it from now on (\(name)).")
            case "needs_restart": Console.sentence("\(agent) must be restarted to use it: \(why.visible).")
            case _ where source != nil: Console.sentence(why.visible)
            default: Console.sentence("\(agent) now rests \(name). \(why.visible)")
            }
        }
    }

    private static func unused(_ change: KeychainChange) -> String {
        switch change {
        case .secret(let name): "No connection or source of the running agent asks for `${{ secret.\(name) }}`."
        case .login(let name): "The running agent has no connection `\(name)`: it must be restarted to use it."
        }
    }
}
