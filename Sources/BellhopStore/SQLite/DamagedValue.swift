/// A value in a row that this program cannot have written.
struct DamagedValue: Error, Sendable, Hashable {
    var problem: String
    init(_ problem: String) { self.problem = problem }
}
