import BellhopAgent
import BellhopConnectors
import BellhopCore
import BellhopRules

/// The past deliveries that a silence would have kept back.
struct SilencePreview: Sendable {
    /// The newest first.
    private(set) var deliveries: [JSON] = []
    /// The number of deliveries that cannot be evaluated, because their event is not stored.
    private(set) var unknown = 0
    /// Whether some deliveries were not evaluated, because there were too many or the time was over.
    private(set) var isCut = false

    /// The most deliveries and the most of their events that are read.
    private static let most = 2000
    private static let maxEvents = 500

    init(_ silence: Silence, since: Timestamp, _ call: Call) async throws(Problem) {
        var backdated = silence
        backdated.starts = Timestamp(seconds: 0)
        let now = call.view.clock.now
        let query = DeliveryQuery(
            rule: silence.rules.count == 1 ? silence.rules[0] : nil,
            receiver: silence.receivers.count == 1 ? silence.receivers[0] : nil, since: since, limit: Self.most)
        let rows = try await call.ask(.deliveries(query)).rows
        isCut = rows.count == Self.most
        let covered = rows.reversed().filter { row in
            let action = Catalogue.actions.first { $0.kind == row["action"]?.asString }
            let content: Silence.Content = action?.isMessage == true ? .message : action?.effect != nil ? .write : .other
            return backdated.covers(content, of: row["rule"].textOrEmpty, to: row["receiver"].textOrEmpty, at: now)
        }
        guard let when = silence.when else {
            deliveries = covered
            return
        }
        let filter = try EventSearch.filter(when, call)
        var answers: [String: Bool?] = [:]
        let end = now + EventSearch.timeout
        for row in covered {
            guard call.view.clock.now < end || answers.isEmpty else {
                isCut = true
                break
            }
            guard let id = Occasion.ID(row["occasion"].textOrEmpty).event?.text else {
                unknown += 1
                continue
            }
            if !answers.keys.contains(id) {
                guard answers.count < Self.maxEvents else {
                    isCut = true
                    break
                }
                answers.updateValue(try await Self.holds(filter, id, call), forKey: id)
            }
            switch answers[id] ?? nil {
            case true?: deliveries.append(row)
            case false?: break
            case nil: unknown += 1
            }
        }
    }

    /// Whether the condition holds for an event; nil if the event is not stored.
    private static func holds(_ filter: EventFilter, _ id: String, _ call: Call) async throws(Problem) -> Bool? {
        guard let row = try await call.ask(.events(EventQuery(id: id, limit: 1))).rows.first, let event = Event(cloudEvent: row)
        else { return nil }
        let stored = StoredEvent(sequence: row["sequence"]?.asInt ?? 0, event: event)
        return !filter.matches(among: [stored], at: call.view.clock.now).places.isEmpty
    }

    /// The most deliveries in an answer.
    private static let maxShown = 100

    var json: JSON {
        [
            "count": .int(Int64(deliveries.count)), "deliveries": .array(Array(deliveries.prefix(Self.maxShown))),
            "unknown": .int(Int64(unknown)), "cut": .bool(isCut),
        ]
    }
}
