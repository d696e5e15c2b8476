import BellhopCore

/// The setting `since` of a source of kind `rest`: requests only the changes since the last poll.
struct Since: Sendable, Hashable {
    enum Format: String, Sendable, Hashable, CaseIterable { case rfc3339, date, seconds, milliseconds }

    var parameter: String
    /// The path to an item's time of change, by the server's clock.
    var field: JSON.Path
    /// How far each poll reaches back, for changes that appear late.
    var overlap: Duration
    var format: Format
    /// How often everything is listed. Only this shows removed items.
    var reconcile: Duration

    static let settings: [Setting] = [
        Setting("parameter", .text, required: true, "The parameter for the time, such as updated_since."),
        Setting("field", .text, required: true, "The path to the time of an item's last change."),
        Setting("overlap", .duration, default: "2m", "How far each poll reaches back, to find changes that appear late."),
        Setting(
            "format", .oneOf(Format.allCases.map(\.rawValue)), default: Format.rfc3339.rawValue, "The format of the parameter."),
    ]

    init?(_ settings: Settings, source: String) throws(ConnectorError) {
        guard let record = settings.record("since") else {
            if settings.duration("reconcile") != nil {
                throw ConnectorError(
                    connection: source, setting: "reconcile", "Without `since` each poll already lists everything.")
            }
            return nil
        }
        let text = record.text("field") ?? ""
        guard let path = JSON.Path(text: text), !path.steps.isEmpty else {
            throw ConnectorError(
                connection: source, setting: "since.field", "`\(text)` is not a path: write names with dots between them.")
        }
        parameter = record.text("parameter") ?? ""
        field = path
        overlap = record.duration("overlap") ?? .seconds(120)
        format = record.text("format").flatMap(Format.init) ?? .rfc3339
        reconcile = settings.duration("reconcile") ?? .seconds(3600)
    }

    /// The parameter for changes since a moment.
    func pair(_ moment: Timestamp) -> (String, String) {
        let from = moment - overlap
        let text =
            switch format {
            case .rfc3339: Self.wholeSeconds(from)
            // The server's day may begin up to twelve hours after UTC's: its evening is then in UTC's next day.
            case .date: String(Self.wholeSeconds(from - .seconds(12 * 3600)).prefix(10))
            case .seconds: String(from.seconds)
            case .milliseconds: String(from.microseconds / 1000)
            }
        return (parameter, text)
    }

    /// The latest change among the items, at least `known`; nil if no item has a time.
    /// - Parameter answered: when the server answered, by its clock. Limits the result, because an item with a time in the future
    ///   would hide all changes until then.
    func latest(in listing: Listing, known: Timestamp?, answered: Timestamp) -> Timestamp? {
        var latest = known
        for entry in listing.entries {
            guard case .string(let text) = ItemValue.typed(listing.record(of: entry)[field], .timestamp),
                let moment = Timestamp(rfc3339: text)
            else { continue }
            latest = max(latest ?? moment, moment)
        }
        return latest.map { min($0, answered) }
    }

    /// A notice that `since` is never used, because no item has a time of change.
    func notice(of source: String, in listing: Listing) -> String? {
        guard !listing.entries.isEmpty else { return nil }
        return "No item of source \(source) has a time at `\(field)` (`since.field`), so every poll lists everything, "
            + "and `\(parameter)` is never sent."
    }

    /// `2026-01-05T09:00:00Z`: many servers accept no fractions.
    private static func wholeSeconds(_ moment: Timestamp) -> String { moment.rfc3339.prefix(19) + "Z" }
}

/// The position of a source of kind `rest`.
struct RESTCursor: Sendable, Hashable {
    var validators = Validators()
    /// The latest change seen, by the server's clock.
    var since: Timestamp?
    /// When everything was last listed, by our clock.
    var whole: Timestamp?
    /// Identifies how everything was read when it was last listed: after a change, everything is listed again.
    var reading: Fingerprint?

    init() {}

    init(_ cursor: Cursor?) {
        validators = Validators(cursor)
        since = cursor?.value["since"]?.asMoment
        whole = cursor?.value["whole"]?.asMoment
        reading = cursor?.value["reading"]?.asString.flatMap { Fingerprint(hex: $0) }
    }

    var cursor: Cursor? {
        var members = validators.members
        if let since { members["since"] = .string(since.rfc3339) }
        if let whole { members["whole"] = .string(whole.rfc3339) }
        if let reading { members["reading"] = .string(reading.hex) }
        if members.isEmpty { return nil }
        return Cursor(.object(members))
    }
}
