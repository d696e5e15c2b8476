import BellhopCore
import CEL

/// The deliveries that the steps of a run make.
extension BatchDecider {
    /// Makes the deliveries of these steps.
    mutating func perform(_ steps: [Step], of rule: Rule, _ number: Int, isShadow: Bool) {
        (runNumber, self.isShadow) = (runNumber + 1, isShadow)
        (opened, closed) = ([], [])
        let owner = frame.reference
        // The deliveries that the next steps wait for: those of the latest step with `on_error: stop`.
        var after: [Delivery.ID] = []
        for step in steps {
            let first = deliveries.count
            var succeeded = true
            do throws(RenderFailure) {
                guard try applies(step) else { continue }
                succeeded = try make(step, rule, number, owner)
            } catch {
                succeeded = false
                let message = "step \(step.name ?? step.path.text) (\(step.action.kind)): \(error.message)"
                // Other steps become dead deliveries, which are visible anyway.
                if step.action.isMessage || isShadow {
                    record(.failed(.stepFailed, message), of: number)
                } else {
                    count(error: message, of: number)
                }
                fail(step, rule, number, owner, error)
            }
            for place in deliveries.indices[first...] {
                deliveries[place].after = after
                if rule.escalation != nil, case .message(let template) = step.content, !template.staysOpen { noteAlert(place) }
                if step.action.emitsEvent, after.isEmpty, deliveries[place].isPending { emit(place) }
            }
            guard step.stopsOnError else { continue }
            if !succeeded { return }
            // Shadow mode delivers nothing, so later steps would wait forever.
            let made = deliveries[first...].filter(\.isPending)
            if !isShadow, !made.isEmpty { after = made.map(\.id) }
        }
    }

    /// Emits the event of a delivery that need not wait, so that both are stored together.
    private mutating func emit(_ place: Int) {
        guard let event = deliveries[place].emittedEvent(at: now) else { return }
        deliveries[place].initial = .done(Delivery.receipt(for: event))
        events.append(event)
        bytes += Self.eventBytes
    }

    private func applies(_ step: Step) throws(RenderFailure) -> Bool {
        guard let condition = step.condition else { return true }
        switch condition.program.verdict(activation) {
        case .yes: return true
        case .no, .unknown: return false
        case .failed(let error): throw RenderFailure("`if` failed: \(error.message)")
        }
    }

    /// Makes the deliveries of a step; false if one is dead from the start.
    private mutating func make(
        _ step: Step, _ rule: Rule, _ number: Int, _ owner: TaskReference?
    ) throws(RenderFailure) -> Bool {
        let renderer = Renderer(frame: frame, activation: activation, zone: rule.zone)
        var target: WriteTarget?
        if step.action.effect == .writes {
            target = try WriteTargets(frame: frame, activation: activation, zone: rule.zone).target(of: step)
        }
        let arguments: Arguments
        var isEmpty = false
        switch step.content {
        case .message(let template):
            let message = try renderer.message(template)
            arguments = .message(message)
            if template.skipsEmpty, message.isEmpty { isEmpty = true }
        case .values(let templates):
            var values = JSON.Object()
            for template in templates {
                values[template.name] =
                    try template.name == "data" && step.action.emitsEvent
                    ? renderer.eventData(template.value) : renderer.value(template.value)
            }
            if let target, values["unless_changed"] == true { values["seen"] = .object(try frame.seen(of: target)) }
            if step.hasComputedHost { values[ActionManifest.computedHost] = true }
            if step.action.emitsEvent, values["subject"] == nil { values["subject"] = .string(frame.subject) }
            arguments = .values(values)
        }
        var succeeded = true
        for receiver in receivers(step, arguments, target) {
            var state = Delivery.InitialState.available
            var end: Timestamp?
            if isEmpty {
                // In shadow mode too: the agent would not send it.
                state = .done(Receipt(Message.notSent))
            } else if isShadow {
                state = .shadow
            } else if let kept = keptBack(step, rule, number, receiver) {
                (state, end) = kept
            } else if let counted = target ?? unseenTarget(step, rule, receiver, arguments),
                let failure = memory.spend(counted, rule)
            {
                state = .dead(failure)
                succeeded = false
                record(.budget, ["step": .string(step.path.text), "task": .string(counted.reference.subject)], of: number)
            }
            bytes += renderer.room.used
            add(delivery(step, rule, receiver, arguments, target?.reference ?? owner, target, state, end))
        }
        return succeeded
    }

    /// Remembers what a delivery opened or closed, if its receiver is a pager.
    private mutating func noteAlert(_ place: Int) {
        let delivery = deliveries[place]
        guard frame.facts.isPager(delivery.id.receiver), case .message(var message) = delivery.arguments else { return }
        let thread = message.thread ?? delivery.id.text
        var alert = OpenAlert(
            receiver: delivery.id.receiver, thread: thread, lane: delivery.lane, opened: .init(held: [], isOpen: true))
        switch delivery.initial {
        case .available where delivery.after.isEmpty, .shadow: break
        case .available, .quiet: alert.opened = .init(held: [delivery.id.text], isOpen: false)
        case .done, .silenced, .dropped, .dead: return
        }
        // With a thread it is sent by itself, not joined with others, so that it can be closed.
        message.thread = thread
        deliveries[place].arguments = .message(message)
        if message.resolve {
            closed.append(alert)
        } else {
            opened.append(alert)
            closed.removeAll { $0.isSame(as: alert) }
        }
    }

    /// The budget for a request that is not itself a write to a task, but goes to a connection that a source reads.
    private func unseenTarget(_ step: Step, _ rule: Rule, _ receiver: String, _ arguments: Arguments) -> WriteTarget? {
        guard frame.facts.readConnections.contains(receiver) else { return nil }
        if case .values(let values) = arguments, let method = values["method"]?.asString, ["GET", "HEAD"].contains(method) {
            return nil
        }
        return WriteTargets(frame: frame, activation: activation, zone: rule.zone).unseen(by: step)
    }

    private func receivers(_ step: Step, _ arguments: Arguments, _ target: WriteTarget?) -> [String] {
        switch step.receivers {
        case .taskConnection:
            if let target { return [target.connection] }
            return [frame.facts.connection(of: frame.source)]
        case .named(let names): return names
        case .argument(let name):
            if let name, case .values(let values) = arguments, let text = values[name]?.plainText.nonEmpty { return [text] }
            return [step.action.kind]
        }
    }

    /// Handles a step that cannot be rendered. A plain message with the error replaces a message. It is as urgent, it mentions the same
    /// people, and it stays in the conversation, so that alerts are still closed. Any other delivery is created dead, so that people see
    /// it.
    private mutating func fail(_ step: Step, _ rule: Rule, _ number: Int, _ owner: TaskReference?, _ error: RenderFailure) {
        var arguments = Arguments.values([:])
        var state = Delivery.InitialState.dead(Failure(.unrenderable, .giveUp, error.message))
        if step.action.isMessage {
            var message = Message.fallback(rule: rule.name, task: owner, error: error.message)
            if case .message(let template) = step.content {
                let renderer = Renderer(frame: frame, activation: activation, zone: rule.zone)
                renderer.fillFallback(&message, from: template, mayClose: (try? applies(step)) ?? false)
            }
            arguments = .message(message)
            state = .available
        }
        if isShadow { state = .shadow }
        for receiver in receivers(step, arguments, nil) {
            let kept = state == .available ? keptBack(step, rule, number, receiver) : nil
            add(delivery(step, rule, receiver, arguments, owner, nil, kept?.state ?? state, kept?.end))
        }
    }

    /// The state of a delivery that is kept back, and the end of the quiet time that holds it; nil for one that may be sent.
    private mutating func keptBack(
        _ step: Step, _ rule: Rule, _ number: Int, _ receiver: String
    ) -> (state: Delivery.InitialState, end: Timestamp?)? {
        if let silenced = silenceFilter?.state(of: step.action, for: runNumber, of: rule.name, to: receiver, at: frame) {
            return (silenced, nil)
        }
        guard step.action.isMessage, rule.quiet != nil || !book.quiet.isEmpty else { return nil }
        var errors: [String] = []
        guard let verdict = quiet.verdict(on: rule, to: receiver, activation, failed: { errors.append($0) }) else { return nil }
        for error in errors { count(error: error, of: number) }
        var detail: JSON.Object = ["step": .string(step.path.text), "receiver": .string(receiver)]
        defer { record(.quiet, detail, of: number) }
        switch verdict {
        case .drop(let owner):
            detail["dropped"] = true
            return (.dropped(.quiet(owner)), nil)
        case .hold(let end):
            detail["until"] = .string(end.rfc3339)
            bytes += Self.eventBytes
            return (.quiet(Delivery.KeptBack(task: frame.snapshot, event: frame.sequence)), end)
        }
    }

    private func delivery(
        _ step: Step, _ rule: Rule, _ receiver: String, _ arguments: Arguments, _ task: TaskReference?, _ target: WriteTarget?,
        _ state: Delivery.InitialState, _ end: Timestamp?
    ) -> Delivery {
        let lane =
            if let target {
                "task/\(target.connection)/\(target.key.text)"
            } else if let conversation = arguments.conversation {
                "conversation/\(receiver)/\(conversation)"
            } else {
                "\(rule.name)/\(receiver)/\(task?.subject ?? frame.subject)"
            }
        var delivery = Delivery(
            id: Delivery.ID(occasion: frame.occasion.id, rule: rule.name, step: step.path, receiver: receiver),
            revision: rule.summary.revision, action: step.action.kind, name: step.name, effect: step.action.effect,
            arguments: arguments, task: task, lane: lane, createdAt: now, runAt: end,
            expires: step.expires.map { (end ?? now) + $0 }, retry: step.retry, hop: frame.hop, initial: state)
        // What it closes or acknowledges need not be sent any more, even if it is kept back itself.
        switch state {
        case .available, .quiet, .silenced, .dropped:
            delivery.settles = arguments.settlesConversation && book.closesConversations(receiver)
        case .shadow, .done, .dead: break
        }
        return delivery
    }

    mutating func add(_ delivery: Delivery) {
        deliveries.append(delivery)
        if case .dead(let failure) = delivery.initial, let notice = delivery.deathNotice(failure, at: now) {
            events.append(notice)
        }
    }
}

extension Delivery {
    /// Whether the delivery has not been attempted yet.
    fileprivate var isPending: Bool { initial == .available }
}

extension Message {
    /// The receipt of a message that `skip_empty` kept back.
    static let notSent = "not sent: every list is empty"

    /// Whether it has no line in any list.
    var isEmpty: Bool { parts.compactMap(\.list).allSatisfy { $0.items.isEmpty && $0.more == 0 } }

    /// The message sent if a rule's own cannot be rendered: the task and the error.
    static func fallback(rule: String, task: TaskReference?, error: String) -> Message {
        let note: [Inline] = [.text("The message of rule "), .value(rule), .text(" could not be rendered: "), .value(error)]
        guard let task else { return Message(title: [.text("Rule "), .value(rule)], text: [.paragraph(note)], isFallback: true) }
        let link = task.url.isEmpty ? nil : Link(label: task.number.nonEmpty ?? "Open", address: task.url)
        return Message(
            title: [.value(task.number), .text(" "), .value(task.title)], text: [.paragraph(note)], link: link, isFallback: true)
    }
}

/// The task that a step writes to.
struct WriteTarget: Sendable, Hashable {
    var connection: String
    var reference: TaskReference

    var key: TaskKey { reference.key }
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
        if origin == .tasks, let own = frame.reference { return target(own) }
        return origin == .page ? target(TaskKey(frame.subject), in: frame.source, subject: frame.subject) : nil
    }

    /// The run's task, or the one that the step's `task` names.
    func target(of step: Step) throws(RenderFailure) -> WriteTarget {
        let own = frame.reference
        guard let template = step.task else {
            guard let own else { throw RenderFailure("the event has no task to write to") }
            return target(own)
        }
        let renderer = Renderer(frame: frame, activation: activation, zone: zone)
        var value = try renderer.value(template)
        if case .object(let task) = value { value = task["id"] ?? .null }
        let text = value.plainText
        if text.isEmpty { throw RenderFailure("`task` names no task") }
        if let own, own.key.text == text || own.number == text { return target(own) }
        return target(
            TaskKey(text), in: own?.source ?? frame.source, subject: PathText.prefix(of: frame.subject) + text)
    }

    private func target(_ reference: TaskReference) -> WriteTarget {
        WriteTarget(connection: frame.facts.connection(of: reference.source), reference: reference)
    }

    /// A task or page of which no more is known.
    private func target(_ key: TaskKey, in source: String, subject: String) -> WriteTarget {
        target(TaskReference(source: source, key: key, number: "", title: "", className: "", url: "", subject: subject))
    }
}
