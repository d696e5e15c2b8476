/// A value in a row that cannot be what this program wrote.
struct DamagedValue: Error, Sendable, Hashable {
    var problem: String
    init(_ problem: String) { self.problem = problem }
}
