import BellhopCore

/// The answer of an adapter or a resource. A JavaScript adapter answers 200 even if its back end failed.
struct AdapterReply: Sendable {
    var response: HTTPResponse
    /// The sender, for messages. It contains no secret.
    var place: String
    /// The texts that messages and receipts must not contain.
    var secrets: [String] = []

    /// The failure; nil for a success.
    func failure(expecting expected: StatusSet, _ repetition: Repetition, at now: Timestamp) -> Failure? {
        let answer = ReceiverAnswer(receiver: place, secrets: secrets)
        if let failure = answer.failure(of: response, expecting: expected, at: now) {
            return repetition.weighed(failure, status: response.status)
        }
        if ReceiverAnswer.isPage(response) {
            return repetition.unclear(
                .unexpectedPage, "\(place) answered with a web page (\(response.status)) instead of data.")
        }
        return backEndFailure(repetition, answer)
    }

    /// The failure reported by a body whose `isSuccessful` is not true.
    private func backEndFailure(_ repetition: Repetition, _ answer: ReceiverAnswer) -> Failure? {
        guard response.body.contains("\"isSuccessful\""), let json = try? JSON.parse(response.body),
            !Self.meansSuccess(json["isSuccessful"])
        else { return nil }
        let lists = ["errors", "errorMessages", "info", "warnings"].flatMap { json[$0]?.asArray ?? [] }.map(ItemValue.text)
        let status = json["statusCode"]?.asInt
        let words = ([json["statusReason"]?.asString ?? ""] + lists).filter { !$0.isEmpty }.joined(separator: "; ")
        let reported = HTTPResponse(status: response.status, body: Array(words.utf8))
        let code = status.map { " (status \($0))" } ?? ""
        let message = "The back end behind \(place) failed\(code)\(words.isEmpty ? "." : answer.words(of: reported))"
        if let status, 400..<500 ~= status { return Failure(.refused, .giveUp, message) }
        return repetition.unclear(.serverError, message)
    }

    /// Whether the value of `isSuccessful` means success. Adapters are scripts, which may write a boolean as a text or a number. A
    /// missing value and null mean success.
    private static func meansSuccess(_ value: JSON?) -> Bool {
        switch value {
        case nil, .null?: true
        case .bool(let flag)?: flag
        case .string(let text)?: ASCII.lowercased(ASCII.trimmed(text)) == "true" || text == "1"
        case .int(let number)?: number != 0
        case .double, .array, .object: false
        }
    }
}
