import BellhopCore

/// The settings of every connection that takes deliveries: its concurrency, and what happens while it is paused.
struct DeliverySettings: Sendable, Hashable {
    var concurrency: Int?
    var onPaused: String?
    var coalescesAbove: Int?

    init() {}

    init(_ settings: Settings) {
        concurrency = settings.integer("concurrency")
        onPaused = settings.text("on_paused")
        coalescesAbove = settings.record("coalesce")?.integer("above")
    }

    /// The limits of the receiver.
    /// - Parameters:
    ///   - declared: the limits that its kind declares.
    ///   - lanes: how many attempts the connection can make at once; nil for no limit of its own.
    func limits(_ declared: DeliveryLimits, lanes: Int? = nil, rate: RateLimiter?) -> ReceiverLimits {
        let concurrency = concurrency ?? declared.concurrency
        return ReceiverLimits(
            concurrency: [concurrency, lanes].compactMap(\.self).min(), upcoming: declared.upcoming,
            rate: rate?.attempts(of: declared.requests), extraTime: rate?.rate.wait(for: declared.requests) ?? .zero,
            onPaused: onPaused, coalescesAbove: coalescesAbove)
    }
}

extension ConnectionManifest {
    /// The manifest with the settings of deliveries and its own defaults for them, if it takes deliveries.
    var withDeliverySettings: ConnectionManifest {
        guard !actions.isEmpty else { return self }
        var manifest = self
        manifest.settings += [
            Setting(
                "concurrency", .integer(1...64), default: limits.concurrency.map(String.init),
                "The largest number of concurrent deliveries."),
            Setting(
                "on_paused", .name,
                "Another connection, which gets a message if this one is paused because a person must repair it: its address is gone, its "
                    + "token is not accepted, or it may not post."
            ),
        ]
        if messages != nil {
            manifest.settings += [
                Setting(
                    "coalesce",
                    .record([
                        Setting(
                            "above", .integer(1...100_000), required: true,
                            "The largest number of waiting messages that are sent one by one.")
                    ]),
                    "Sends waiting messages without `thread` as one message if there are more than a number. It lists the titles of the first \(Message.Coalescing.waiting.lines) at most, and counts the others."
                ),
                Setting("quiet", .record(QuietTime.settings(except: .text)), "When messages to it are kept back."),
            ]
        }
        if let rate = limits.rate, let place = manifest.settings.firstIndex(where: { $0.name == "rate" }) {
            manifest.settings[place].fallback = rate.text
        }
        return manifest
    }
}
