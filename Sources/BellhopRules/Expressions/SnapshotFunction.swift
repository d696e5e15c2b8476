import BellhopCore
import CEL
import Synchronization

/// `snapshot("changes")`: the tasks of a source by its name, whatever the rule's own sources are. Typed by the source's fields.
///
/// A class with a lock, because files are read at the same time and share the sources that their expressions name.
final class SnapshotFunction: Sendable {
    static let name = "snapshot"

    private let context: RuleContext
    private let named = Mutex<[String: TaskGroup]>([:])

    init(_ context: RuleContext) { self.context = context }

    /// The names of the sources that have tasks.
    var sources: [String] { context.taskSources.map(\.name) }

    /// The tasks of each source that an expression has named, by the scope of its variable.
    var groups: [String: TaskGroup] { named.withLock { $0 } }

    var selector: Environment.VariableSelector {
        Environment.VariableSelector(Self.name) { [self] name in
            guard let name else {
                return .failure(
                    Overload.ArgumentProblem(
                        "`snapshot` takes the name of a source as a literal text", help: "such as `snapshot(\"changes\")`"))
            }
            let found = context.taskSources.first { $0.name == name }
            guard let source = found ?? (context.isOpen ? context.assumedSource(name) : nil) else {
                return .failure(unknown(name))
            }
            let scope = Self.scopes + name
            let type = named.withLock { named in
                if let group = named[scope] { return group.type }
                let type = TaskTypes([source], isOpen: context.isOpen).task
                named[scope] = TaskGroup(sources: [(name, source.scope)], user: source.user, type: type)
                return type
            }
            return .success(.init(Self.variable(of: name), .list(.object(type)), scope: scope))
        }
    }

    private func unknown(_ name: String) -> Overload.ArgumentProblem {
        if let page = context.sources.first(where: { $0.name == name }) {
            let reason = page.shows == .page ? "watches a page" : "shows no tasks"
            return Overload.ArgumentProblem("source `\(name)` \(reason): it has no tasks")
        }
        let names = sources
        let listing = names.isEmpty ? "bellhop.yaml has none" : "use " + names.quotedList
        return Overload.ArgumentProblem(
            "there is no source `\(name)`", help: Suggestion.didYouMean(name, among: names) ?? listing)
    }

    /// The prefix of the scopes of its variables; lists of sources have no slash.
    private static let scopes = "snapshot/"

    private static func variable(of source: String) -> String { "\(name)(\"\(source)\")" }

    /// The source whose tasks a variable holds; nil for any other variable.
    static func source(ofVariable variable: String) -> String? {
        let prefix = "\(name)(\""
        return variable.hasPrefix(prefix) ? String(variable.dropFirst(prefix.count).dropLast(2)) : nil
    }

    /// The snapshot that the variable of a source holds; nil if no expression has named it.
    func snapshot(of source: String) -> Scope.ID? { named.withLock { $0[Self.scopes + source]?.sources[0].scope } }
}
