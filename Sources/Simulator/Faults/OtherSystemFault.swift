import BellhopCore

/// Errors of ETO's services and of Mobile Foundation.
public enum OtherSystemFault: String, Sendable, Hashable, CaseIterable {
    /// A refused login: 200 with a token of zeros and a status other than 0.
    case etoZeroToken = "eto_zero_token"
    /// An error under 200: `{"Detail": …}`.
    case etoDetail = "eto_detail"
    /// 500, the answer to a dead session.
    case etoDeadSession = "eto_dead_session"
    /// 401 that requests a token.
    case mfpNoToken = "mfp_no_token"
    /// 401 that says that the token is no longer valid.
    case mfpInvalidToken = "mfp_invalid_token"
    /// 403 that lists the required scopes.
    case mfpInsufficientScope = "mfp_insufficient_scope"
    /// 200 from a JavaScript adapter whose back end failed.
    case mfpUnsuccessful = "mfp_unsuccessful"

    var reply: Reply {
        switch self {
        case .etoZeroToken:
            .json(
                200,
                [
                    "SSOAuthenticateResult": [
                        "AccessKey": .string(SimulatedETO.zeros), "AuthStatusCode": 1,
                        "SSOAuthToken": .string(SimulatedETO.zeros),
                    ]
                ])
        case .etoDetail: .detail(200, "The request could not be processed")
        case .etoDeadSession: .detail(500, "The server was unable to process the request due to an internal error")
        case .mfpNoToken: Reply(401).with("WWW-Authenticate", "Bearer")
        case .mfpInvalidToken: Reply(401).with("WWW-Authenticate", "Bearer error=\"invalid_token\"")
        case .mfpInsufficientScope:
            Reply(403).with(
                "WWW-Authenticate", "Bearer error=\"insufficient_scope\", scope=\"RegisteredClient scopeA scopeB\"")
        case .mfpUnsuccessful:
            .json(
                200,
                [
                    "isSuccessful": false, "statusCode": 500, "statusReason": "Internal Server Error",
                    "errors": ["Runtime: HTTP request failed"],
                ])
        }
    }
}
