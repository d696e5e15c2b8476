/// A time in which messages are kept back: they are made and recorded, but never sent.
public struct Silence: Sendable, Hashable, Identifiable {
    public var id: String
    /// A condition in the rules' language; nil for every message.
    public var when: String?
    /// The rules whose messages it keeps back; empty for all.
    public var rules: [String]
    /// The receivers whose messages it keeps back; empty for all.
    public var receivers: [String]
    /// The first moment of the silence.
    public var starts: Timestamp
    /// The first moment after the silence.
    public var ends: Timestamp
    public var reason: String
    /// The author: a user's name, or `bellhop.yaml`.
    public var by: String
    /// Whether it also keeps back deliveries that write to a task or create one.
    public var writes: Bool
    /// The entry of bellhop.yaml that it comes from, by its ``SilenceEntry/identity``; nil for one made by a command.
    public var entry: String?

    public init(
        id: String = "", when: String? = nil, rules: [String] = [], receivers: [String] = [], starts: Timestamp, ends: Timestamp,
        reason: String = "", by: String = "", writes: Bool = false, entry: String? = nil
    ) {
        self.id = id
        self.when = when
        self.rules = rules
        self.receivers = receivers
        self.starts = starts
        self.ends = ends
        self.reason = reason
        self.by = by
        self.writes = writes
        self.entry = entry
    }

    /// The length of an id, in hexadecimal digits.
    static let idLength = 12

    /// The same with an id made of its content, so that the same silence is stored once.
    public var identified: Silence {
        var silence = self
        let facts = ["silence", entry ?? "", when ?? "", reason, by, String(writes), String(starts.microseconds)]
        let own = facts + ["rules"] + rules + ["receivers"] + receivers + [entry == nil ? String(ends.microseconds) : ""]
        silence.id = String(Identity.of(own).prefix(Self.idLength))
        return silence
    }

    /// The same from now on, as another silence: the one with its id has ended.
    public func again(at now: Timestamp) -> Silence {
        var silence = self
        silence.starts = max(starts + .microseconds(1), now)
        return silence.identified
    }

    public func isActive(at now: Timestamp) -> Bool { starts <= now && now < ends }

    /// The kind of a delivery, as far as silences distinguish it.
    public enum Content: Sendable, Hashable {
        case message
        /// It writes to a task or creates one.
        case write
        case other
    }

    /// Whether it keeps such a delivery back, if its condition is true too.
    public func covers(_ content: Content, of rule: String, to receiver: String, at now: Timestamp) -> Bool {
        guard isActive(at: now), rules.isEmpty || rules.contains(rule), receivers.isEmpty || receivers.contains(receiver) else {
            return false
        }
        switch content {
        case .message: return true
        case .write: return writes
        case .other: return false
        }
    }
}

/// A stored silence with its effect.
public struct SilenceRecord: Sendable, Hashable {
    public var silence: Silence
    /// How many deliveries it kept back.
    public var kept: Int
    /// When it ended, by its time or because a person ended it; nil while it lasts or lies ahead.
    public var ended: Timestamp?

    public init(_ silence: Silence, kept: Int = 0, ended: Timestamp? = nil) {
        (self.silence, self.kept, self.ended) = (silence, kept, ended)
    }

    /// The silence with its real end, which is earlier than planned if a person ended it.
    public var lasted: Silence {
        var silence = silence
        if let ended { silence.ends = min(silence.ends, ended) }
        return silence
    }
}

// MARK: JSON

extension Silence {
    /// The members of `silence` in events, of the answers of commands, and of the store.
    public var json: JSON.Object {
        [
            "id": .string(id), "when": .optional(when), "rules": .array(rules.map(JSON.string)),
            "receivers": .array(receivers.map(JSON.string)), "starts": .string(starts.rfc3339), "ends": .string(ends.rfc3339),
            "reason": .string(reason), "by": .string(by), "writes": .bool(writes),
        ]
    }

    /// Reads the form of ``json``; nil for anything else.
    public init?(json: JSON) {
        guard let id = json["id"]?.asString, let starts = json["starts"]?.asMoment,
            let ends = json["ends"]?.asMoment
        else { return nil }
        func texts(_ name: String) -> [String] { json[name]?.asArray?.compactMap(\.asString) ?? [] }
        self.init(
            id: id, when: json["when"]?.asString, rules: texts("rules"), receivers: texts("receivers"), starts: starts,
            ends: ends, reason: json["reason"]?.asString ?? "", by: json["by"]?.asString ?? "", writes: json["writes"] == true)
    }
}

extension SilenceRecord {
    public var json: JSON.Object {
        var json = silence.json
        json["kept"] = .int(Int64(kept))
        if let ended { json["ended"] = .string(ended.rfc3339) }
        return json
    }

    /// Reads the form of ``json``; nil for anything else.
    public init?(json: JSON) {
        guard let silence = Silence(json: json) else { return nil }
        self.init(silence, kept: Int(json["kept"]?.asInt ?? 0), ended: json["ended"]?.asMoment)
    }
}

// MARK: Events

extension Event {
    public static func silenceStarted(_ silence: Silence, at now: Timestamp) -> Event {
        Event(.silenceStarted(silence), facts: silence.id, source: "bellhop", subject: "silence/\(silence.id)", at: now)
    }

    public static func silenceEnded(_ record: SilenceRecord, at now: Timestamp) -> Event {
        Event(
            .silenceEnded(record), facts: record.silence.id, source: "bellhop", subject: "silence/\(record.silence.id)", at: now)
    }
}

/// An entry under `silences` in bellhop.yaml: one silence, or one at each time of a schedule.
public struct SilenceEntry: Sendable {
    public enum Times: Sendable {
        case once(starts: Timestamp, ends: Timestamp)
        case recurring(CronSchedule, TimeZoneTable, zone: String, lasting: Duration)
    }

    /// The silence without its times.
    private let template: Silence
    public let times: Times
    /// The place in the file of a part of its condition.
    public let placeInCondition: Diagnostic.Place.InText?
    /// The place of the entry in the file.
    public let place: Diagnostic.Place?

    public init(
        _ template: Silence, times: Times, place: Diagnostic.Place? = nil, placeInCondition: Diagnostic.Place.InText? = nil
    ) {
        (self.times, self.place, self.placeInCondition) = (times, place, placeInCondition)
        var template = template
        let when: [String] =
            switch times {
            case .once(let starts, let ends): [String(starts.microseconds), String(ends.microseconds)]
            case .recurring(let schedule, _, let zone, let span): [schedule.text, zone, String(span.wholeMicroseconds)]
            }
        let facts = [template.when ?? "", template.reason, String(template.writes), "rules"] + template.rules
        template.entry = Identity.of(["silence entry"] + when + facts + ["receivers"] + template.receivers)
        self.template = template
    }

    public var when: String? { template.when }
    public var rules: [String] { template.rules }

    /// A hash of its content, which distinguishes it from all other entries. It differs for a changed entry.
    public var identity: String { template.entry ?? "" }

    /// The silence that is active, if any, and the next one.
    public func silences(at now: Timestamp) -> [Silence] {
        switch times {
        case .once(let starts, let ends): return ends > now ? [silence(from: starts, to: ends)] : []
        case .recurring(let schedule, let zone, _, let span):
            guard let first = schedule.next(after: now - span, in: zone) else { return [] }
            var found = [silence(from: first, to: first + span)]
            if first <= now, let next = schedule.next(after: now, in: zone) {
                found.append(silence(from: next, to: next + span))
            }
            return found
        }
    }

    private func silence(from starts: Timestamp, to ends: Timestamp) -> Silence {
        var silence = template
        (silence.starts, silence.ends) = (starts, ends)
        return silence.identified
    }
}
