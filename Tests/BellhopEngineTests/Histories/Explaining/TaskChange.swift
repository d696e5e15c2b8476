/// A change of a task in an explained history, as its event describes it.
struct TaskChange {
    enum Kind { case created, changed, removed, returned }

    /// The fields that rules read. A task may have no state.
    struct Fields: Equatable {
        var priority = 1
        var state: Int?
    }

    /// Its place among the history's changes of tasks.
    var number: Int
    var kind: Kind
    var source: String
    var id: String
    /// For a removed task, the last known ones.
    var fields: Fields
    /// Those before a change.
    var before: Fields?
    /// Minutes since the history began.
    var minute: Int

    var isCreatedOrChanged: Bool { kind == .created || kind == .changed }
}
