import BellhopCore

/// One delivery for people: its history, then its content.
struct DeliveryPage {
    /// As `--json` prints it.
    let delivery: JSON
    let zone: TimeZoneTable

    var lines: [String] {
        let name = text("state")
        let head = Paint.bold("\(text("id"))") + "  " + (state?.needsPerson == true ? Paint.red(name) : name)
        return [head] + story.map { "  \($0.0.padded(to: 10))  \($0.1.singleLine.withLocalTimes(in: zone))" } + [""] + sent
    }

    private var state: DeliveryState? { DeliveryState(rawValue: text("state")) }

    private func text(_ name: String) -> String { delivery[name].textOrEmpty }

    /// The history as names and values, in order of time.
    private var story: [(String, String)] {
        var story: [(String, String)] = []
        func add(_ name: String, _ value: String?) { if let value, !value.isEmpty { story.append((name, value)) } }
        let name = delivery["name"]?.asString.map { " “\($0)”" } ?? ""
        add("action", "\(text("action")) to \(text("receiver"))")
        add("rule", "\(text("rule")), step \(text("step"))\(name)")
        if let task = delivery["task"] {
            let words = [task["number"], task["title"], task["url"]].compactMap { $0?.asString }
            add("task", words.filter { !$0.isEmpty }.joined(separator: "  "))
        }
        add("occasion", text("occasion"))
        add("created", text("created"))
        let after = delivery["after"].elements
        add("waits for", after.compactMap { $0.asString?.prefix(12) }.joined(separator: ", "))
        if let last = delivery["last_attempt"]?.asString {
            let count = delivery["attempts"]?.asInt ?? 0
            add("attempts", "\(count), \(count == 1 ? "" : "the latest ")at \(last)")
        }
        if let error = delivery["error"] {
            add(
                state == .done || state == .joined ? "past error" : "error",
                "\(error["message"].textOrEmpty) [\(error["reason"].textOrEmpty)]")
        }
        add("silence", delivery["silence"]?.asString)
        add("kept back", delivery["quiet_until"]?.asString.map { "until \($0); `bellhop deliveries retry` sends it now" })
        for edit in delivery["edits"].elements { add("edited", "\(edit["at"].textOrEmpty) by \(edit["by"].textOrEmpty)") }
        add("receipt", delivery["receipt"]?.asString)
        add("finished", delivery["finished"]?.asString)
        if let stop = delivery["stopped"] {
            add("next try", Self.nextTry(after: stop, to: text("receiver")))
        } else if state == .available {
            add("next try", text("next"))
        }
        if delivery["finished"]?.isNull ?? true { add("expires", text("expires")) }
        return story
    }

    /// When the next attempt comes after a pause of all writes or a stop of the receiver, and why.
    static func nextTry(after stop: JSON, to receiver: String) -> String {
        let reason = stop["reason"].textOrEmpty.afterColon
        if let until = stop["until"]?.asString {
            let cause = stop["cause"] == "failures" ? "keeps failing (circuit breaker open)" : "rests"
            return "\(until), because \(receiver) \(cause)\(reason)"
        }
        let since = stop["since"].textOrEmpty
        return stop["cause"] == "writes"
            ? "after `bellhop resume --writes`; writes to tasks have been paused since \(since)\(reason)"
            : "after `bellhop resume \(receiver)`; it has been paused since \(since)\(reason)"
    }

    private var sent: [String] {
        let verb = state == .joined ? "By itself it would send" : state == .done ? "It sent" : "It sends"
        if let request = delivery["request"] {
            return ["\(verb) \(request["method"].textOrEmpty) to \(request["to"].textOrEmpty):"]
                + block((request["body"] ?? .null).text(.pretty))
        }
        if let message = delivery["message"] { return ["\(verb) this message:"] + block(message["text"].textOrEmpty) }
        return ["\(verb), as `\(text("action"))`:"] + block((delivery["arguments"] ?? .null).text(.pretty))
    }

    private func block(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).visible }
    }
}
