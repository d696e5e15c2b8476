public import BellhopCore
import CEL

/// A condition in the rules' language over tasks: a search.
public struct TaskCondition: Sendable {
    private let condition: RuleExpression
    private let reading: SilenceBook.Reading

    /// - Throws: the mistakes in the condition.
    public init(_ when: String, context: RuleContext) throws(Diagnostics) {
        let cache = SharedNameCache(context, hasEvent: false)
        var names = SilenceBook.names(context, cache, events: [])
        names.environment.declare("task", .object(names.types.task))
        condition = try SilenceBook.compile(when, names, "where", of: "a search")
        reading = SilenceBook.Reading(context, names, cache)
    }

    /// The places of the tasks for which the condition holds. One for which it fails or is unknown is left out.
    ///
    /// - Parameters:
    ///   - tasks: each with the name of its source.
    ///   - limit: how many places at most.
    ///   - isOver: asked after each; true to leave out the rest.
    public func matches(
        among tasks: [(source: String, task: Snapshot)], at now: Timestamp, limit: Int = .max,
        isOver: () -> Bool = { false }
    ) -> Matched {
        let frame = RunFrame(reading.facts, events: [], now: now)
        let activation = Activation(reading.slots)
        return Matched(among: tasks.count, limit: limit, isOver: isOver) { place in
            let (source, task) = tasks[place]
            frame.move(to: RunContext(occasion: .event(Event.ID("search")), source: source, subject: "", task: task))
            activation.begin(frame)
            return condition.program.verdictOfOne(activation)
        }
    }
}
