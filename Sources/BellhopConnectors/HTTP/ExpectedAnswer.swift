import BellhopCore

/// The checks of a step's answer, and the part of the answer to keep.
struct ExpectedAnswer: Sendable {
    static let settings: [Setting] = [
        StatusSet.setting,
        Setting("check", .map(.json), "Paths in the JSON answer, each with its required value."),
        Setting(
            "receipt", .text,
            "The path to the part of the answer to keep, such as the number of the new record; an answer that is not JSON is kept as text."
        ),
    ]

    let statuses: StatusSet
    private let checks: [(path: JSON.Path, text: String, value: JSON)]
    private let receipt: JSON.Path?

    init(_ arguments: JSON.Object) throws(RequestArguments.Problem) {
        func path(_ text: String, of setting: String) throws(RequestArguments.Problem) -> JSON.Path {
            guard let path = JSON.Path(text: text), !path.steps.isEmpty else {
                throw RequestArguments.Problem(setting, "`\(text)` is not a path: write names with dots between them.")
            }
            return path
        }
        statuses = try StatusSet.expected(arguments)
        var checks: [(path: JSON.Path, text: String, value: JSON)] = []
        for (text, value) in arguments["check"]?.asObject ?? [:] { checks.append((try path(text, of: "check"), text, value)) }
        self.checks = checks
        receipt = try arguments["receipt"]?.asString.map { text throws(RequestArguments.Problem) in
            try path(text, of: "receipt")
        }
    }

    /// Checks an answer and returns the part to keep.
    /// - Parameters:
    ///   - label: the name of the answering system, for messages.
    ///   - secrets: texts to hide in messages and receipts.
    func check(
        _ response: HTTPResponse, from label: String, hiding secrets: [String], _ repetition: Repetition
    ) throws(Failure) -> String? {
        if checks.isEmpty, receipt == nil { return nil }
        guard let json = try? JSON.parse(response.body) else {
            guard checks.isEmpty else {
                throw Failure(
                    .badAnswer, repetition.isAllowed ? .giveUp : .hold,
                    "\(label) answered \(response.status), but not with JSON to check: whether the request was carried out is unknown."
                )
            }
            let text = ReceiverAnswer.isPage(response) ? "" : ReceiverAnswer.text(response, hiding: secrets)
            return text.isEmpty ? nil : Redaction.line(text, hiding: secrets, length: 100)
        }
        for check in checks where json[check.path] != check.value {
            let found = json[check.path].map { Redaction.line($0.text, hiding: secrets, length: 60) } ?? "nothing"
            throw Failure(
                .refused, .giveUp,
                "\(label) answered \(response.status), but `\(check.text)` is \(found), not \(check.value.text).")
        }
        return receipt.flatMap { json[$0] }.map {
            Redaction.line(RequestArguments.words($0), hiding: secrets, length: 100)
        }
    }
}
