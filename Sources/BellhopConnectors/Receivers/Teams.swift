import BellhopCore

/// A chat or channel of Microsoft Teams, through a workflow. A workflow does not return a message's id, so messages cannot be
/// answered or replaced.
struct TeamsReceiver: HookReceiver {
    static let kind = "teams"
    static let summary = "A chat or channel of Microsoft Teams, through a workflow."
    static let settings = [
        Setting(
            "url", .secret, required: true,
            "The address of a workflow that begins when a Teams webhook request is received; anyone who has it can post.")
    ]
    static let addresses = [
        ServiceAddress(
            "a workflow for Teams", hosts: ["*.logic.azure.com", "*.logic.azure.us"], path: "/workflows/**", example: example),
        ServiceAddress("a workflow for Teams", hosts: ["*.api.powerplatform.com"], path: "/powerautomate/**", example: example),
        ServiceAddress(
            "a connector of Office 365", hosts: ["*.webhook.office.com"], path: "/**", example: example, refusal: retired),
        ServiceAddress(
            "a connector of Office 365", hosts: ["outlook.office.com", "outlook.office365.com"], path: "/webhook/**",
            example: example, refusal: retired),
    ]
    private static let example = "https://….environment.api.powerplatform.com/powerautomate/automations/direct/workflows/…"
    /// Microsoft turned off the connectors of Office 365, whose addresses these are.
    private static let retired = """
        This is the address of an Office 365 connector, which Microsoft has retired. In Teams, open the channel's Workflows, \
        choose "Send webhook alerts to a channel", and put the address of that workflow into `url`.
        """
    static let messages = MessageAbilities(
        mentions: .yes,
        mentionForms: "write a user's address or Entra id, such as `user: ada@example.com`", mentionsGroups: false)

    /// At most 4 requests in a second and 60 in 30 seconds (Microsoft, *Rate limiting for connectors*, which workflows share).
    static let limits = DeliveryLimits(rate: Rate(count: 4, per: .seconds(2)))

    init(_ settings: Settings, connection: String) {}

    /// A successful status can come with an error of the service behind the workflow.
    func failure(of response: HTTPResponse, from hook: Hook, at now: Timestamp) -> Failure? {
        let outcome = "\(hook.label) answered \(response.status)"
        let text = ReceiverAnswer.text(response, hiding: [])
        if response.isSuccess {
            if ReceiverAnswer.isPage(response) {
                return Failure(.unexpectedPage, .retry(after: nil), "\(outcome) with a web page: an intermediary answered.")
            }
            guard let range = text.firstRange(of: "HTTP error ") else { return nil }
            let status = Int(text[range.upperBound...].prefix { $0.isNumber }) ?? 0
            switch status {
            case 429: return Failure(.throttled, .rest(nil), "\(outcome), but with the error 429: too many requests for now.")
            case 500...:
                return Failure(.serverError, .retry(after: nil), "\(outcome), but with an error\(hook.words(of: response))")
            default: return Failure(.refused, .giveUp, "\(outcome), but with an error\(hook.words(of: response))")
            }
        }
        let code = response.json?["error"]?["code"]?.asString ?? ""
        guard code == "WorkflowTriggerIsNotEnabled" || code == "WorkflowNotFound" else { return nil }
        return Failure(
            .goneOrHidden, .pauseReceiver,
            "\(outcome): the workflow is turned off or deleted. Its owner can turn it on, or create one and put its address into `url`."
        )
    }
}
