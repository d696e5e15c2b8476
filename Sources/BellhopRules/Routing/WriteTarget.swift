import BellhopCore
import CEL

/// The task that a step writes to.
struct WriteTarget: Sendable, Hashable {
    var connection: String
    var key: TaskKey
    var reference: TaskReference
}

/// Finds the task that a step writes to.
struct WriteTargets {
    let frame: RunFrame
    let activation: Activation
    let zone: TimeZoneTable

    /// The target of a request to a connection that a source reads, since it may cause the next event: the run's own task or
    /// page. Nil for events that no such request can cause.
    func unseen(by step: Step) -> WriteTarget? {
        guard step.mayWriteUnseen(to: frame.facts.readConnections) else { return nil }
        let origin = frame.event.map { frame.facts.events[$0.type]?.origin } ?? .tasks
        let own: TaskReference
        if origin == .tasks, let reference = frame.reference {
            own = reference
        } else if origin == .page {
            own = TaskReference(
                source: frame.source, key: TaskKey(frame.subject), number: "", title: "", className: "", url: "",
                subject: frame.subject)
        } else {
            return nil
        }
        return WriteTarget(connection: frame.facts.connection(of: own.source), key: own.key, reference: own)
    }

    /// The run's task, or the one that the step's `task` names.
    func target(of step: Step) throws(RenderFailure) -> WriteTarget {
        let own = frame.reference
        guard let template = step.task else {
            guard let own else { throw RenderFailure("the event has no task to write to") }
            return WriteTarget(connection: frame.facts.connection(of: own.source), key: own.key, reference: own)
        }
        let renderer = Renderer(frame: frame, activation: activation, zone: zone)
        var value = try renderer.value(template)
        if case .object(let task) = value { value = task["id"] ?? .null }
        let text = value.plainText
        if text.isEmpty { throw RenderFailure("`task` names no task") }
        if let own, own.key.text == text || own.number == text {
            return WriteTarget(connection: frame.facts.connection(of: own.source), key: own.key, reference: own)
        }
        let source = own?.source ?? frame.source
        let instance = frame.subject.split(separator: "/").dropLast().joined(separator: "/")
        let reference = TaskReference(
            source: source, key: TaskKey(text), number: "", title: "", className: "", url: "",
            subject: instance.isEmpty ? text : "\(instance)/\(text)")
        return WriteTarget(connection: frame.facts.connection(of: source), key: reference.key, reference: reference)
    }
}
