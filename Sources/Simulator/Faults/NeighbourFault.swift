/// What goes wrong at ETO's services and at Mobile Foundation, as they say it.
public enum NeighbourFault: String, Sendable, Hashable, CaseIterable {
    /// A login that is refused: 200 with a token of zeros and another status than 0.
    case etoZeroToken = "eto_zero_token"
    /// An error under 200: `{"Detail": …}`.
    case etoDetail = "eto_detail"
    /// 500, as a dead session is answered.
    case etoDeadSession = "eto_dead_session"
    /// 401 that asks for a token.
    case mfpNoToken = "mfp_no_token"
    /// 401 that says that the token is not valid any more.
    case mfpInvalidToken = "mfp_invalid_token"
    /// 403 that names the scopes a token needs.
    case mfpInsufficientScope = "mfp_insufficient_scope"
    /// 200 of a JavaScript adapter whose back end failed.
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
