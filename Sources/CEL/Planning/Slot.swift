import Synchronization

/// A variable, or a path of fields from one, that programs read: a numbered place in an ``Activation``, filled once per event.
///
/// A class, though immutable, so that passing it to a resolver does not copy its names.
public final class Slot: Sendable, CustomStringConvertible {
    /// The index in every activation of the table.
    public let id: Int
    /// Distinguishes variables of one name; see ``Environment/Variable/scope``.
    public let scope: String
    public let variable: String
    /// The fields to follow from the variable; empty for the variable itself.
    public let path: [String]
    /// The slot of the variable itself.
    let root: Int
    /// The program that computes the variable, if the host does not give it.
    let definition: Program?

    /// Whether the host gives the variable's value.
    let isOfHost: Bool

    init(id: Int, scope: String, variable: String, path: [String], root: Int?, definition: Program?) {
        isOfHost = definition == nil
        self.id = id
        self.scope = scope
        self.variable = variable
        self.path = path
        self.root = root ?? id
        self.definition = path.isEmpty ? definition : nil
    }

    public var description: String { ([variable] + path).joined(separator: ".") }
}

/// The slots of all programs of an environment and of its copies.
///
/// The language's only shared mutable state: programs are compiled one by one and must agree on the numbers of shared paths, so
/// that one activation, filled once, serves them all. Slots are only ever added.
public final class SlotTable: Sendable {
    private struct State {
        var slots: [Slot] = []
        var numbers: [Key: Int] = [:]
    }

    private struct Key: Hashable {
        let scope: String
        let variable: String
        let path: [String]
    }

    private let state = Mutex(State())

    public init() {}

    /// All slots so far, by their ids.
    public var all: [Slot] { state.withLock(\.slots) }

    /// The number of a path, new or existing.
    func number(_ variable: Environment.Variable, _ path: [String]) -> Int {
        state.withLock { state in
            func add(_ path: [String], root: Int?) -> Int {
                let key = Key(scope: variable.scope, variable: variable.name, path: path)
                if let existing = state.numbers[key] { return existing }
                let id = state.slots.count
                state.slots.append(
                    Slot(
                        id: id, scope: variable.scope, variable: variable.name, path: path, root: root,
                        definition: variable.definition))
                state.numbers[key] = id
                return id
            }
            let root = add([], root: nil)
            return path.isEmpty ? root : add(path, root: root)
        }
    }
}
