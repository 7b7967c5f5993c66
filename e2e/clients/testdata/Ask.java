import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.openintent.client.ApiClient;
import org.openintent.client.ApiException;
import org.openintent.client.api.ChannelServiceApi;
import org.openintent.client.api.IntentServiceApi;
import org.openintent.client.api.MessageServiceApi;
import org.openintent.client.model.*;

/** Asks a question and answers it, with a client made of the OpenAPI document. It prints the answer, and the reason of a refusal. */
public class Ask {
  static ApiClient as(String agent) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("OPENINTENT_URL"));
    client.setRequestInterceptor(
        request -> request.header("X-API-Key", System.getenv("OPENINTENT_API_KEY")).header("X-Agent-ID", agent));
    return client;
  }

  public static void main(String[] arguments) throws Exception {
    ApiClient alice = as("alice");
    MessageServiceApi bob = new MessageServiceApi(as("bob"));
    Intent intent =
        new IntentServiceApi(alice).intentServiceCreateIntent(new CreateIntentRequest().title("Ask over REST"), null);
    ChannelServiceApi channels = new ChannelServiceApi(alice);
    Channel channel = channels.channelServiceCreateChannel(intent.getId(), new CreateChannelRequest().name("questions"), null);

    CompletableFuture<Void> answering = CompletableFuture.runAsync(() -> answerOne(bob));
    Message answer =
        new MessageServiceApi(alice)
            .messageServiceAsk(
                channel.getId(),
                new AskRequest().to("bob").payload(Map.of("text", "Does it work?")).timeoutSeconds(60.0),
                null,
                "once");
    answering.join();
    System.out.println(answer.getSender() + " " + answer.getMessageType() + " " + answer.getPayload().get("text"));
    try {
      channels.channelServiceGetChannel("chan_nowhere", null, null);
    } catch (ApiException refused) {
      Problem problem = ApiClient.createDefaultObjectMapper().readValue(refused.getResponseBody(), Problem.class);
      System.out.println(refused.getCode() + " " + problem.getReason());
    }
  }

  static void answerOne(MessageServiceApi bob) {
    try {
      Inbox inbox = bob.messageServiceGetInbox("bob", null, null, null, 60.0, null, null);
      for (InboxItem item : inbox.getItems()) {
        Message asked = item.getMessage();
        bob.messageServiceReplyMessage(
            asked.getChannelId(),
            asked.getId(),
            new ReplyMessageRequest().payload(Map.of("text", asked.getPayload().get("text") + " Yes.")),
            null,
            null);
      }
    } catch (ApiException refused) {
      throw new IllegalStateException(refused);
    }
  }
}
